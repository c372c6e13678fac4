// Adds a message of the user to a stored conversation. It waits until the run pauses: a reply in progress does not answer
// it, and approved calls are not taken back. It also waits for requests that other people decide.
import type { Run } from '../loop/run.ts';
import { untilAborted } from '../models/abort.ts';
import { changesOf } from './driving/changes.ts';
import type { Drives } from './driving/driving.ts';
import type { DriveOptions } from './driving/open-run.ts';
import { untilPaused } from './driving/wait.ts';
import { checkChain } from './port/chain.ts';
import { readRun } from './port/read-run.ts';
import { unknownRun } from './port/run-id.ts';
import { refuseLarge } from './port/run-limit.ts';
import type { LoadedRun } from './port/store.ts';
import { refusalOf } from './port/store-errors.ts';
import { newlyInDoubt, openCallIds, pendingCards } from './requests/card.ts';
import type { Say } from './requests/deciding.ts';
import { areLeftToOthers, type Speaker } from './requests/left-to-others.ts';
import { dryRun } from './requests/recording.ts';
import { stateOf, stateOfRun } from './requests/view.ts';
import { expireCards, fetchTimeIfExpired, type Settling } from './requests/waiting/expiry.ts';
import { withdrawing } from './requests/waiting/withdrawing.ts';

/**
 * `signal` stops waiting for the worker that drives the run; then nothing is recorded. A doubt raised after the first `seen`
 * events, or else after the run was first read, is not withdrawn by a message that is older.
 */
export type SpeakOptions = DriveOptions & {
  readonly signal?: AbortSignal;
  readonly seen?: number;
  /** The person who sends the message. */
  readonly by?: string;
  /** If others than this person decide a pending request, the message withdraws nothing and waits. */
  readonly speaker?: Speaker | undefined;
  /** The run as the caller has just read it, for the first attempt. */
  readonly read?: LoadedRun | undefined;
};

/** Resolves with the number of events before the message, once it is recorded. `say` is called again if others wrote first. */
export async function speak(drives: Drives, runId: string, say: Say, options: SpeakOptions): Promise<number> {
  const { store } = drives;
  const { signal, context } = options;
  await untilAborted(drives.time.tell(), signal);
  const changes = changesOf(store, runId, signal);
  let { seen, read } = options;
  try {
    for (;;) {
      const loaded = read ?? (await untilAborted(readRun(store, runId), signal));
      read = undefined;
      if (!loaded) throw unknownRun(runId);
      const size = await checkChain(loaded);
      seen ??= loaded.run.version;
      if (loaded.run.status === 'running') {
        drives.agent(loaded.run.agent);
        read = await untilPaused(drives, runId, { ...(signal && { signal }) }, { ...(context && { context }) });
      } else {
        const refusal = await says(drives, { ...loaded, size }, say, { ...options, seen });
        if (!refusal) return loaded.run.version;
        if (refusal === 'claim-lost') await untilAborted<unknown>(drives.driven(runId) ?? changes.next(), signal);
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
  { seen, by, speaker, ...options }: SpeakOptions,
) {
  const { run: record, events, size } = loaded;
  const state = await stateOfRun(loaded);
  const agent = drives.agent(record.agent, state);
  await untilAborted(fetchTimeIfExpired(record.id, state, drives.time), options.signal);
  const isLeft = speaker && (await areLeftToOthers(drives.people, pendingCards(record.id, state).values(), speaker));
  const open = drives.open(record, state, agent, { ...options, claim: 'enter' });
  const { run, journal } = open;
  const at = drives.clock();
  const expireAndSay = (run: Run, settling: Settling): void => {
    expireCards(run, settling, at);
    const kept = isLeft ? openCallIds(run.state) : newlyInDoubt(run.state, () => stateOf(events.slice(0, seen)));
    withdrawing(run, settling, { by: by ?? null, at }, () => say(run, kept));
  };
  // If the message is refused, nothing is recorded and the run does not continue.
  refuseLarge(drives.runLimit, { run: record, size }, dryRun(record.id, state, expireAndSay), 'message');
  expireAndSay(run, journal);
  const refusal = await refusalOf(journal.recorded());
  if (refusal && !journal.hasBegun) return refusal;
  if (journal.holds) await drives.driveOrLeave(open);
  return undefined;
}
