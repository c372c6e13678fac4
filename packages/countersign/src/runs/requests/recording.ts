// Tries and records a change of a run, and drives the run on.
import { ConflictError } from '../../core/errors.ts';
import type { BallotEvent, RunEvent } from '../../core/run/event.ts';
import type { State } from '../../core/run/state.ts';
import type { Run } from '../../loop/run.ts';
import type { Sink } from '../../loop/sink.ts';
import { StoredRun } from '../../loop/stored-run.ts';
import type { Drives } from '../driving/driving.ts';
import { stayFailed } from '../journal/outcome.ts';
import { checkChain } from '../port/chain.ts';
import { readRun } from '../port/read-run.ts';
import { unknownRequest } from '../port/run-id.ts';
import { refuseLarge } from '../port/run-limit.ts';
import type { LoadedRun, RunRecord } from '../port/store.ts';
import { refusalOf } from '../port/store-errors.ts';
import type { DecideOptions } from '../run-options.ts';
import { type PendingCard, pendingCards, runIdOf } from './card.ts';
import { stateOfRun } from './view.ts';
import type { Settling } from './waiting/expiry.ts';

/** The run that an attempt read. */
export type Loaded = { readonly run: RunRecord; readonly state: State; readonly size: number };

export async function loadRun(
  { store }: Drives,
  runId: string,
  unknown: () => Error,
  known?: LoadedRun,
): Promise<Loaded> {
  const loaded = known ?? (await readRun(store, runId));
  if (!loaded) throw unknown();
  const size = await checkChain(loaded);
  return { run: loaded.run, state: await stateOfRun(loaded), size };
}

/** Why the run must be read again. `claim-lost`: another worker drives the run. */
export type Stale = 'stale-version' | 'claim-lost';

export type Change = (run: Run, settling: Settling) => void;

/** Returns the events that the change would record, or throws what it throws. Nothing is recorded. */
export function dryRun(runId: string, state: State, change: Change): readonly RunEvent[] {
  const events: RunEvent[] = [];
  const sink: Sink = {
    stamp: (event) => event,
    write: (added) => void events.push(...added),
    flushed: async () => undefined,
    frozen: () => undefined,
    isHeld: () => true,
  };
  change(new StoredRun(state, sink), { runId, settle: () => undefined });
  return events;
}

/** `onRecorded` is awaited once the decision is durable, before anything runs. It must not reject. */
export type Recording = DecideOptions & { readonly onRecorded?: () => Promise<void> };

/**
 * Makes the change durable. Returns why that failed. If `begins`, the run is driven on at once, and the change becomes durable
 * together with the start of its call. `no`: there is nothing to drive.
 */
export async function record(
  drives: Drives,
  { run: record, state }: Loaded,
  change: Change,
  options: Recording,
  drive: boolean | 'no',
): Promise<Stale | undefined> {
  const begins = drive === true && options.drive !== false && !options.onRecorded;
  const agent = drives.agent(record.agent, state, options);
  const claim = drive === 'no' ? 'none' : begins ? 'enter' : 'take';
  const open = drives.open(record, state, agent, { ...options, claim });
  const { run, journal } = open;
  change(run, journal);
  if (drive === 'no') stayFailed(run, record);
  const refusal = await refusalOf(begins ? drives.begin(open) : journal.recorded());
  if (refusal) return refusal;
  await options.onRecorded?.();
  if (begins || !journal.holds) return undefined;
  if (options.drive === false) await journal.finish();
  else await drives.driveOrLeave(open);
  return undefined;
}

/** Records an event about a pending request that lets nothing run. `make` returns undefined if nothing changes. `what`: its limit. */
export async function recordOn(
  drives: Drives,
  requestId: string,
  what: 'message' | 'decision',
  make: (card: PendingCard) => Promise<BallotEvent | undefined>,
): Promise<void> {
  const runId = runIdOf(requestId);
  await drives.time.tell();
  for (;;) {
    const loaded = await loadRun(drives, runId, () => unknownRequest(requestId));
    const card = pendingCards(runId, loaded.state).get(requestId);
    if (!card) throw await notPending(drives, requestId);
    const made = await make(card);
    if (!made) return;
    const change: Change = (run) => run.record(made);
    refuseLarge(drives.runLimit, loaded, dryRun(runId, loaded.state, change), what);
    if (!(await record(drives, loaded, change, { drive: false }, 'no'))) return;
  }
}

async function notPending({ store }: Drives, requestId: string): Promise<Error> {
  const found = await store.request(requestId);
  if (!found) return unknownRequest(requestId);
  const { runId, settlement } = found;
  const message = `Interrupt ${requestId} is no longer pending. Reload the run.`;
  return new ConflictError('already-decided', { requestId, runId, settlement }, message);
}
