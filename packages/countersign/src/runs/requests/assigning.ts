// Assigns a request to a person, who should decide it. Others still may.
import { circlesOf, isPlain } from '../../core/authority/policy.ts';
import { ConflictError, UsageError } from '../../core/errors.ts';
import { aStringOrNull, type OptionTable } from '../../core/options.ts';
import { event } from '../../core/run/event.ts';
import type { Drives } from '../driving/driving.ts';
import { stayFailed } from '../journal/outcome.ts';
import { voterOf } from '../people.ts';
import { readRun } from '../port/read-run.ts';
import { unknownRequest } from '../port/run-id.ts';
import { refusalOf } from '../port/store-errors.ts';
import { type PendingCard, pendingCards, runIdOf } from './card.ts';
import { policiesOn } from './progress.ts';
import { trustedState } from './view.ts';
import { electorateOf } from './votes.ts';

/** Options of `runs.assign`. */
export type AssignOptions = {
  /** The person to decide; null removes the assignment. */
  readonly to: string | null;
  /** Who assigns it. */
  readonly by?: string | null;
};

export const ASSIGN_OPTIONS: OptionTable<AssignOptions> = {
  to: { ...aStringOrNull, required: true },
  by: aStringOrNull,
};

/** Resolves once it is recorded. Records nothing if the request is assigned to this person already. */
export async function assign(drives: Drives, requestId: string, options: AssignOptions): Promise<void> {
  const { to, by = null } = options;
  const runId = runIdOf(requestId);
  await drives.time.tell();
  for (;;) {
    const loaded = await readRun(drives.store, runId);
    if (!loaded) throw unknownRequest(requestId);
    const { run: record } = loaded;
    const state = await trustedState(loaded);
    const card = pendingCards(runId, state).get(requestId);
    if (!card) throw await notPending(drives, requestId);
    if ((card.progress?.assignedTo ?? null) === to) return;
    if (to !== null) await refuseUnable(drives, card, requestId, to);
    const agent = drives.agent(record.agent, state, { drive: false });
    const { run, journal } = drives.open(record, state, agent, { claim: 'none' });
    run.record(event({ type: 'request-assigned', requestId: card.id, to, by }));
    stayFailed(run, record);
    if (!(await refusalOf(journal.recorded()))) return;
  }
}

/** Throws if a vote of this person would be refused. If the engine cannot know their roles, the vote will tell. */
async function refuseUnable({ people }: Drives, card: PendingCard, requestId: string, to: string): Promise<void> {
  const policies = policiesOn(card);
  if (isPlain(policies)) return;
  const electorate = electorateOf(policies, card);
  const voter = await voterOf(people, to, {}, electorate);
  const circles = policies.flatMap(circlesOf);
  const isUnknown = !people.rolesOf && circles.some((who) => who.roles?.length);
  if (isUnknown || electorate.mayVote({ by: to, ...voter })) return;
  const message = `${requestId} cannot be assigned to ${to}, because ${to} is not allowed to decide it. Name one of its deciders.`;
  throw new UsageError('not-allowed', { status: 403, requestId, to }, message);
}

async function notPending({ store }: Drives, requestId: string): Promise<Error> {
  const record = await store.request(requestId);
  if (!record) return unknownRequest(requestId);
  const { runId, settlement } = record;
  const message = `Interrupt ${requestId} is no longer pending. Reload the run.`;
  return new ConflictError('already-decided', { requestId, runId, settlement }, message);
}
