// Waits for a run for a limited time. The error says what the run waits for: its requests, or the process that drives it.
import { ConflictError } from '../../core/errors.ts';
import { forAtMost } from '../../models/abort.ts';
import { unknownRun } from '../port/run-id.ts';
import type { LoadedRun, RunRecord } from '../port/store.ts';
import type { WaitOptions } from '../run-options.ts';
import type { Drives } from './driving.ts';
import type { DriveOptions } from './open-run.ts';
import { untilPaused } from './wait.ts';

/** As `untilPaused`, but rejects with `wait-timeout` after `timeoutMs`. */
export async function untilPausedOrLate(
  drives: Drives,
  runId: string,
  { timeoutMs, signal, until = 'pause' }: WaitOptions,
  driving?: Pick<DriveOptions, 'context'>,
): Promise<LoadedRun> {
  if (timeoutMs === undefined) return untilPaused(drives, runId, { until, ...(signal && { signal }) }, driving);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  try {
    return await untilPaused(drives, runId, { until, signal: either }, driving);
  } catch (error) {
    if (!late.signal.aborted || error !== late.signal.reason) throw error;
    throw await timeoutOf(drives, runId, { timeoutMs, until });
  } finally {
    clearTimeout(timer);
  }
}

type Obstacle = {
  readonly status?: RunRecord['status'];
  /** The requests that a person has to decide. */
  readonly pending: readonly { readonly id: string; readonly tool: string }[];
  /** Which process drives the run; `unknown` if the store cannot tell. */
  readonly driver: 'this process' | 'another process' | 'none' | 'unknown';
  readonly explanation: string;
};

/** The store may be silent, and the caller's time is over. */
const ASK_MS = 1_000;

async function timeoutOf(drives: Drives, runId: string, { timeoutMs, until }: WaitOptions): Promise<ConflictError> {
  const { explanation, ...known } = (await forAtMost(ASK_MS, obstacleOf(drives, runId))) ?? SILENT;
  const awaited = until === 'end' ? 'end' : 'pause or end';
  const message = `Run ${runId} did not ${awaited} within ${timeoutMs} ms. ${explanation}`;
  return new ConflictError('wait-timeout', { runId, timeoutMs, ...known }, message);
}

const SILENT: Obstacle = {
  pending: [],
  driver: 'unknown',
  explanation: 'The store does not respond. Check its connection.',
};

async function obstacleOf(drives: Drives, runId: string): Promise<Obstacle> {
  const { store, agents } = drives;
  const loaded = await store.read(runId, { limit: 1 });
  if (!loaded) throw unknownRun(runId);
  const { status, agent } = loaded.run;
  const { items } = await store.listRequests({ runId, limit: MOST_NAMED });
  const pending = items.map(({ id, tool }) => ({ id, tool }));
  const driver = drives.driven(runId) !== undefined ? 'this process' : await driverElsewhere(drives, loaded.run);
  const sentences = [
    ...(pending.length > 0 ? [waitsFor(pending)] : []),
    ...(status === 'running' ? [DRIVER[driver]] : []),
    ...(status === 'running' && !agents.has(agent) ? [`Agent ${agent} is not defined in this process.`] : []),
  ];
  return { status, pending, driver, explanation: sentences.join(' ') || `It is ${status} now.` };
}

const MOST_NAMED = 20;

function waitsFor(pending: Obstacle['pending']): string {
  const named = pending.map(({ id, tool }) => `${tool} (${id})`).join(', ');
  return `It waits for a person to decide ${named}; record the decision with runs.decide(id, …).`;
}

/** A running run that is due has no claim: its process has ended, or no worker has taken it. */
async function driverElsewhere({ store }: Drives, { id, agent, status }: RunRecord): Promise<Obstacle['driver']> {
  if (status !== 'running') return 'none';
  const due = await store.due(MOST_DUE, [agent]);
  if (due.includes(id)) return 'none';
  return due.length < MOST_DUE ? 'another process' : 'unknown';
}

const MOST_DUE = 1_000;

const DRIVER: Readonly<Record<Obstacle['driver'], string>> = {
  'this process':
    'This process drives it, and the model or a tool has not finished. Wait longer, or follow runs.events(id).',
  'another process':
    'Another process drives it. Wait longer; if that process died, a worker takes over when its lease ends.',
  none: 'No process drives it. Start a worker with runs.work(), or call runs.drive(id).',
  unknown: 'Too many runs wait for a worker to tell whether one drives it. Start more with runs.work().',
};
