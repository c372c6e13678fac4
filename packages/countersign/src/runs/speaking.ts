// Adds a message of the user to a stored conversation. It waits until the run pauses: a reply in progress does not answer
// it, and approved calls are not taken back.
import type { Run } from '../loop/run.ts';
import { untilAborted } from '../models/abort.ts';
import type { Say } from './deciding.ts';
import { type Changes, changesOf } from './driving/changes.ts';
import type { DriveOptions, Drives } from './driving/driving.ts';
import { dryRun } from './dry-run.ts';
import { bufferUntilDurable } from './journal/buffer-until-durable.ts';
import { checkChain } from './port/chain.ts';
import { readRun } from './port/read-run.ts';
import { unknownRun } from './port/run-id.ts';
import { refuseLargeMessage } from './port/run-limit.ts';
import type { LoadedRun, RunRecord, Store } from './port/store.ts';
import { refusalOf } from './port/store-errors.ts';
import { newlyInDoubt } from './questions/card.ts';
import { expireCards, fetchTimeIfExpired, type Settling } from './questions/expiry.ts';
import { stateOf, stateOfRun } from './questions/view.ts';
import { withdrawing } from './questions/withdrawing.ts';

/**
 * `signal` stops waiting for the worker that drives the run; then nothing is recorded. A doubt raised after the first `seen`
 * events, or else after the run was first read, is not withdrawn by a message that is older.
 */
export type SpeakOptions = DriveOptions & {
  readonly signal?: AbortSignal;
  readonly seen?: number;
  /** The person who sends the message. */
  readonly by?: string;
  /** The run as the caller has just read it, for the first attempt. */
  readonly read?: LoadedRun | undefined;
};

type Runs = { readonly store: Store; readonly drives: Drives };

/**
 * Resolves once the message is recorded, with the number of events before it. `say` is called again if someone else wrote
 * first.
 */
export async function speak(runs: Runs, runId: string, say: Say, options: SpeakOptions): Promise<number> {
  const { store, drives } = runs;
  await untilAborted(drives.refreshTime(), options.signal);
  const changes = changesOf(store, runId, options.signal);
  let { seen, read } = options;
  try {
    for (;;) {
      const loaded = read ?? (await untilAborted(readRun(store, runId), options.signal));
      read = undefined;
      if (!loaded) throw unknownRun(runId);
      const size = await checkChain(loaded);
      seen ??= loaded.run.version;
      if (loaded.run.status === 'running') await comesToRest(runs, loaded.run, changes, options);
      else {
        const refusal = await says(drives, { ...loaded, size }, say, { ...options, seen });
        if (!refusal) return loaded.run.version;
        if (refusal === 'claim-lost') await untilChanged(drives, runId, changes, options.signal);
      }
    }
  } finally {
    changes.stop();
  }
}

/** Undefined once the message is recorded. Then this process holds the claim and the run continues. */
async function says(
  drives: Drives,
  loaded: LoadedRun & { readonly size: number },
  say: Say,
  { seen, by, ...options }: SpeakOptions,
) {
  const { run: record, events, size } = loaded;
  const agent = drives.agent(record.agent);
  const state = await stateOfRun(loaded);
  await untilAborted(fetchTimeIfExpired(record.id, state, drives), options.signal);
  const chunks = options.onChunk && bufferUntilDurable(options.onChunk);
  const { run, journal } = drives.open(record, state, agent, { onStale: 'fail', claim: 'enter', emit: chunks?.hear });
  const at = drives.clock();
  const expireAndSay = (run: Run, settling: Settling): void => {
    expireCards(run, settling, at);
    const kept = newlyInDoubt(run.state, () => stateOf(events.slice(0, seen)));
    withdrawing(run, settling, { by: by ?? null, at }, () => say(run, kept));
  };
  // If the message is refused, nothing is recorded and the run does not continue.
  refuseLargeMessage(drives.runLimit, { run: record, size }, dryRun(record.id, state, expireAndSay));
  expireAndSay(run, journal);
  const refusal = await refusalOf(journal.recorded());
  if (refusal && !journal.hasBegun) return refusal;
  chunks?.release();
  const driving = { ...options, ...(chunks && { onChunk: chunks.hear }) };
  if (journal.holds) await drives.driveOrLeave(agent, run, journal, driving);
  return undefined;
}

/** Resolves when the run pauses or ends. If no worker drives it, for example after a crash, this process does. */
async function comesToRest(
  { store, drives }: Runs,
  { id, agent, ...first }: RunRecord,
  changes: Changes,
  { context, signal }: SpeakOptions,
): Promise<void> {
  drives.agent(agent);
  for (let { status, version } = first; status === 'running'; ) {
    if (!drives.isStopping && !drives.driven(id)) await untilAborted(drives.take(id, context), signal);
    await untilChanged(drives, id, changes, signal);
    const loaded = await untilAborted(store.read(id, { after: version }), signal);
    if (!loaded) throw unknownRun(id);
    ({ status, version } = loaded.run);
  }
}

async function untilChanged(drives: Drives, runId: string, changes: Changes, signal: AbortSignal | undefined) {
  await untilAborted<unknown>(drives.driven(runId) ?? changes.next(), signal);
}
