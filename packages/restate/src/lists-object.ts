// The lists: copies each change of a run or note into another store, in order. The copy serves lists, searches, statistics and
// watchers. It lags, and decides nothing.
import * as restate from '@restatedev/restate-sdk';
import { ConflictError, InvariantError } from 'countersign';
import type { RequestRecord, Store } from 'countersign/store';
import { catchUp, copiedEvents, forget } from './catch-up.ts';
import { PATIENT } from './handler-options.ts';
import { type Change, json, listsName, type NoteChange, type RunSummary, runName } from './wire.ts';

/** How many requests of a run are asked for at once. */
const QUESTIONS_AT_ONCE = 50;

/** Makes the object. It has one key per run, and one per note, so that changes of each arrive in order. */
export function listsObject(name: string, lists: Store) {
  async function apply(ctx: restate.ObjectContext, change: Change): Promise<void> {
    // Journaled, so that a second attempt takes the same way.
    const outcome = await ctx.run('copy', () => copyChange(lists, ctx.key, change));
    if (outcome === 'behind') await rebuild(ctx);
  }

  /** Completes what the lists have of this run, from the run itself. */
  async function rebuild(ctx: restate.ObjectContext): Promise<void> {
    const run = {
      service: runName(name),
      key: ctx.key,
      inputSerde: json,
      outputSerde: json,
    };
    const summary = await ctx.genericCall<null, RunSummary | null>({ ...run, method: 'summary', parameter: null });
    if (summary === null) return ctx.run('forget', () => forget(lists, ctx.key));
    const questions: RequestRecord[] = [];
    for (let from = 0; from < summary.requestIds.length; from += QUESTIONS_AT_ONCE) {
      const parameter = summary.requestIds.slice(from, from + QUESTIONS_AT_ONCE);
      questions.push(
        ...(await ctx.genericCall<readonly string[], RequestRecord[]>({ ...run, method: 'questions', parameter })),
      );
    }
    await ctx.run('catch up', () => catchUp(lists, summary, questions));
  }

  /** A process that was frozen may write late, so the versions are compared. */
  async function note(_: restate.ObjectContext, { collection, key, version, note }: NoteChange): Promise<void> {
    const copied = await lists.notes.get(collection, key);
    const [, copiedVersion = 0] = (copied?.value ?? []) as readonly [string?, number?];
    if (copiedVersion > version) return;
    if (note === null) await lists.notes.remove(collection, key);
    else {
      const options = { version: copied?.version ?? 0, expiresAt: note.expiresAt };
      const written = await lists.notes.put(collection, key, [note.value, version], options);
      if (!written) throw new Error(`The note ${key} of ${collection} changed meanwhile.`);
    }
  }

  const { exclusive } = restate.handlers.object;
  return restate.object({
    name: listsName(name),
    handlers: {
      apply: exclusive(PATIENT, apply),
      rebuild: exclusive(PATIENT, rebuild),
      note: exclusive(PATIENT, note),
    },
  });
}

/** `behind` if the lists lack changes before this one. A change that they have is fine. */
async function copyChange(lists: Store, runId: string, change: Change): Promise<'copied' | 'behind'> {
  const { append, claim, freed, deleted } = change;
  if (append !== undefined) {
    const { added, ...copy } = append;
    const taken = claim === null ? {} : { claim: { how: 'take' as const, ...claim } };
    try {
      await lists.append({ ...copy, ...taken, events: copiedEvents(added, append.at) });
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof InvariantError)) throw error;
      if (error.code === 'run-deleted') return 'copied';
      const version = (await lists.read(runId, { limit: 1 }))?.run.version ?? 0;
      if (version < append.expectedVersion + added) return 'behind';
    }
  }
  if (freed !== null) await lists.release(runId, freed);
  if (append === undefined && claim !== null) await lists.claim(runId, claim.token, claim.leaseMs);
  if (deleted) await forget(lists, runId);
  return 'copied';
}
