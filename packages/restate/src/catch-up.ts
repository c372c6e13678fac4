// Completes the copy of a run in the lists from the run itself: after the loss of the lists, or a restore of an old backup.
import { isDeepStrictEqual } from 'node:util';
import type { Append, RequestRecord, Store, StoredEvent } from 'countersign/store';
import type { RunSummary } from './wire.ts';

/**
 * Events in the lists: only their number counts. No release of Countersign knows this event and no hash chain matches it, so
 * a worker that is pointed at the lists by mistake runs nothing.
 */
export function copiedEvents(count: number, at: number): readonly StoredEvent[] {
  return new Array(count).fill({ v: 0, type: 'in-restate', at } as unknown as StoredEvent);
}

/**
 * Appends what the lists lack: first the missing requests, then the settlements, and the calls that a grant let run, each at its own time, and last what is new
 * about pending requests. The run has had at
 * least one event for each of these appends, so the versions come out even.
 */
export async function catchUp(
  lists: Store,
  { record, claim }: Omit<RunSummary, 'requestIds'>,
  questions: readonly RequestRecord[],
): Promise<void> {
  const { id: runId, agent, startedBy, createdAt, version, hash, status, wakeAt, outcome } = record;
  const copied = await lists.read(runId, { limit: 1 });
  let at = copied?.run.version ?? 0;
  if (at >= version) return;
  const missing: RequestRecord[] = [];
  const unsettled: RequestRecord[] = [];
  const progressed: RequestRecord[] = [];
  const ended: RequestRecord[] = [];
  for (const question of questions) {
    const copy = await lists.request(question.id);
    if (copy === undefined && !isSettledAtOnce(question)) missing.push(question);
    if (question.settledAt !== null && (copy?.settledAt ?? null) === null) unsettled.push(question);
    if (copy && copy.settledAt !== null && !isDeepStrictEqual(copy.outcome, question.outcome)) ended.push(question);
    if (question.settledAt === null && copy && !isDeepStrictEqual(copy.progress, question.progress))
      progressed.push(question);
  }
  const settlements = groupedByTime(unsettled);
  const steps: { readonly at: number; readonly settled: readonly RequestRecord[] }[] = [];
  if (copied === undefined) steps.push({ at: createdAt, settled: [] });
  else if (missing.some((question) => settlements.length === 0 || settlements[0]?.includes(question)))
    steps.push({ at: missing[0]?.createdAt ?? record.updatedAt, settled: [] });
  for (const settled of settlements) steps.push({ at: settled[0]?.settledAt ?? 0, settled });
  const isPlaceLeft = steps.length < version - at;
  if (isPlaceLeft && steps.at(-1)?.at !== record.updatedAt) steps.push({ at: record.updatedAt, settled: [] });
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    const added = isLast ? version - at : 1;
    const append: Append = {
      ...{
        runId,
        expectedVersion: at,
        events: copiedEvents(added, step.at),
        hash,
        status,
        wakeAt,
        outcome,
        at: step.at,
      },
      ...(at === 0 && { create: { id: runId, agent, startedBy } }),
      opened: [...(index === 0 ? missing : []), ...step.settled.filter(isSettledAtOnce)].map(asNew),
      settled: step.settled
        .filter((question) => !isSettledAtOnce(question))
        .map(({ id, settlement, outcome }) => ({ id, settlement, outcome })),
      ...(isLast && {
        progressed: progressed.map(({ id, progress, deciders }) => ({ id, progress, deciders })),
        ended: ended.map(({ id, outcome }) => ({ id, outcome })),
      }),
      ...(isLast && claim && { claim: { how: 'take', token: claim.token, leaseMs: claim.until - step.at } }),
    };
    await lists.append(append);
    at += added;
  }
}

/** Removes a run that was deleted, even if the lists have not seen its end. */
export async function forget(lists: Store, runId: string): Promise<void> {
  if (await lists.delete(runId)) return;
  const copied = await lists.read(runId, { limit: 1 });
  if (copied === undefined) return;
  const { version, hash, updatedAt: at } = copied.run;
  await lists.append({
    ...{ runId, expectedVersion: version, events: copiedEvents(1, at), hash, at },
    ...{ status: 'cancelled', wakeAt: null, outcome: null, opened: [], settled: [] },
  });
  if (!(await lists.delete(runId))) throw new Error(`The lists still have a claim on run ${runId}.`);
}

function groupedByTime(questions: readonly RequestRecord[]): readonly (readonly RequestRecord[])[] {
  const groups = Map.groupBy(questions, ({ settledAt }) => settledAt ?? 0);
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
}

/** Nobody was asked about the call. */
function isSettledAtOnce({ settlement }: RequestRecord): boolean {
  return settlement !== null && typeof settlement === 'object' && ('granted' in settlement || 'observed' in settlement);
}

function asNew(record: RequestRecord): Append['opened'][number] {
  const { startedBy: _, settledAt: __, settlement, outcome, ...question } = record;
  return isSettledAtOnce(record) ? { ...question, settlement, outcome } : question;
}
