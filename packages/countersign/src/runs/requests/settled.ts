// A decision on a settled request: the recorded decision, or the error that says who was first.

import { ConflictError } from '../../core/errors.ts';
import { type Json, sameJson } from '../../core/json.ts';
import type { ToolRequestPart } from '../../core/messages/message.ts';
import { drillMark } from '../../core/run/drill.ts';
import { DEADLINE, type PersonDecision } from '../../core/run/event.ts';
import type { GivenGrant } from '../grants/view.ts';
import type { RequestRecord, Store } from '../port/store.ts';
import { digestOf, type PendingCard, willRun } from './card.ts';
import { type Ending, grantedIn, type Settlement, saidIn } from './decision.ts';

/** The recorded decision; the same for a caller that decides the same again. */
export type Decided = Settlement & {
  readonly requestId: string;
  readonly runId: string;
  /** The grant that was given with the decision. */
  readonly grant?: GivenGrant;
  /** Present if the request was a drill, which had to be rejected and could not run. */
  readonly drill?: true;
};

/** Throws if the request was settled differently. */
export function settledAs(
  { id: requestId, runId, agent, settlement, settledAt }: RequestRecord,
  decision: PersonDecision,
): Decided {
  const recorded = settlement as unknown as Ending | null;
  if (recorded?.decision !== undefined && sameJson(recorded.decision, saidIn(decision)))
    return { requestId, runId, ...recorded, ...drillMark({ agent }) };
  const at = new Date(recorded?.at ?? settledAt ?? Number.NaN);
  // The row may have been edited by hand, with an invalid time.
  const when = Number.isNaN(at.getTime()) ? '' : ` at ${at.toISOString()}`;
  const granted = grantedIn(recorded);
  const what = granted
    ? `was not asked: ${granted.rule ? 'a rule' : `the grant ${granted.id}`} let its call run${when}.`
    : recorded?.decision
      ? decidedAs(recorded, when)
      : withdrawnAs(recorded, when);
  const message = `Interrupt ${requestId} ${what} Reload the run.`;
  throw new ConflictError('already-decided', { requestId, runId, settlement }, message);
}

function decidedAs({ by, channel, decision }: Settlement, when: string): string {
  const said = JSON.stringify(decision);
  if (by === DEADLINE && channel === null) return `expired${when}. Its deadline decided: ${said}.`;
  return `was decided by ${by ?? 'someone'}${when}: ${said}.`;
}

function withdrawnAs(recorded: Ending | null, when: string): string {
  const by = recorded?.by ? ` by ${recorded.by}` : '';
  const why = recorded?.note ? ` (${recorded.note})` : '';
  return `was withdrawn${by}${when}${why}. Nothing is left to decide.`;
}

export function endedRun(runId: string): ConflictError {
  return new ConflictError('already-decided', { runId }, `Run ${runId} has ended, so there is nothing left to decide.`);
}

/** Throws if the decision was made on another card than the recorded one. */
export async function refuseOutdated(
  store: Store,
  requestId: string,
  { part }: PendingCard,
  digest: string | undefined,
): Promise<void> {
  if (digest === undefined || digest === digestOf(requestId, { part } as unknown as Json)) return;
  // An older version may have made the card differently. It is accepted if it shows the recorded request.
  const kept = await store.request(requestId);
  if (kept && digest === kept.digest && digest === digestOf(requestId, kept.card) && shows(kept.card, part)) return;
  throw new ConflictError(
    'outdated-card',
    { requestId },
    `The decision on ${requestId} was made on another card than the one that waits. Load it again.`,
  );
}

/** The tool, the input that would run and the payload are the recorded ones. */
export function shows(card: Json, recorded: ToolRequestPart): boolean {
  const { part } = card as unknown as { readonly part: ToolRequestPart };
  const [shown, asked] = [part, recorded].map(
    (one) =>
      [
        one.toolRequest,
        willRun(one),
        one.metadata?.interruptKind ?? null,
        one.metadata?.interrupt ?? null,
      ] as unknown as Json,
  );
  return sameJson(shown, asked);
}
