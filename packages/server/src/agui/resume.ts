// Records the answers to interrupts, each for itself: one that is refused stops none of the others.
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from 'countersign';
import { decidableRequest, recordDecision } from '../api/record-decision.ts';
import type { Services } from '../api/services.ts';
import type { Person } from '../identity/person.ts';
import { refusedOutcome } from '../refused-outcome.ts';
import type { ResumeEntry } from './input.ts';
import { decisionOf, readRequestId } from './interrupts.ts';

export type Refused = ReturnType<typeof refusedOutcome>;

export type Resuming = { readonly runId: string; readonly person: Person; readonly address: URL };

/** Returns the entries that were refused, with the reason. */
export async function resume(
  services: Services,
  resuming: Resuming,
  entries: readonly ResumeEntry[],
): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  const byRequest = Map.groupBy(entries, ({ interruptId }) => readRequestId(interruptId)?.interruptId ?? interruptId);
  for (const [interruptId, said] of byRequest) {
    try {
      await decide(services, resuming, interruptId, said);
    } catch (error) {
      refused.push(refusedOutcome(interruptId, error, services.log));
    }
  }
  return refused;
}

async function decide(
  services: Services,
  { runId, person, address }: Resuming,
  interruptId: string,
  [entry, ...others]: readonly ResumeEntry[],
): Promise<void> {
  const named = entry && readRequestId(entry.interruptId);
  // A request of another run is not part of this thread, even if the person could decide it there.
  if (!named || !interruptId.startsWith(`${runId}:`))
    throw new UsageError('unknown-request', { interruptId }, `Interrupt ${interruptId} not found in this thread.`);
  if (others.some((other) => !isDeepStrictEqual(other, entry)))
    throw new UsageError(
      'invalid-decision',
      { interruptId },
      `Different entries for ${interruptId}. None was recorded.`,
    );
  const asked = decisionOf(entry, await services.access.request(interruptId, person));
  if (!asked) return;
  const seen = await decidableRequest(services, interruptId, person, asked);
  await recordDecision(services, seen, { person, channel: 'ag-ui', address }, { ...asked, digest: named.digest });
}
