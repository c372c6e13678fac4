// Checks the options of `ai.runs`, so that every store behaves the same.
import { UsageError } from '../core/errors.ts';
import { checkChoice, checkType, keysOf, refuseUnknownKeys, wrongType } from '../core/known-keys.ts';
import { checkContext } from '../loop/options.ts';
import { checkSignal } from '../models/abort.ts';
import type { InterruptQuery, RunQuery } from './port/store.ts';
import type {
  CancelOptions,
  DecideOptions,
  FollowOptions,
  InterruptListOptions,
  RunListOptions,
  WaitOptions,
} from './run-options.ts';

export function askedRuns(options: RunListOptions): RunQuery {
  refuseUnknownKeys('`list`', options, RUN_KEYS);
  const query = paged(options);
  for (const field of ['agent', 'startedBy'] as const) checkType(field, query[field], 'string');
  checkChoice('status', query.status, ['running', 'waiting', 'done', 'failed', 'cancelled']);
  checkChoice('order', query.order, ['newest', 'oldest']);
  return query;
}

const RUN_KEYS = keysOf<RunListOptions>({
  status: true,
  agent: true,
  startedBy: true,
  order: true,
  limit: true,
  cursor: true,
});

export function askedInterrupts(options: InterruptListOptions): InterruptQuery {
  // A misspelt filter must not select everything: its caller may decide all that it finds.
  refuseUnknownKeys('`interrupts`', options, INTERRUPT_KEYS);
  const query = paged(options);
  checkType('settled', query.settled, 'boolean');
  for (const field of TEXTS) checkType(field, query[field], 'string');
  for (const field of ['createdBefore', 'createdAfter'] as const) checkTime(field, query[field]);
  checkChoice('outcome', query.outcome, ['approved', 'edited', 'rejected', 'answered', 'cancelled', 'expired']);
  checkChoice('kind', query.kind, ['approval', 'question', 'interrupt', 'unknown-outcome', 'unavailable']);
  checkChoice('risk', query.risk, ['low', 'medium', 'high']);
  checkChoice('order', query.order, ['newest', 'oldest']);
  return query;
}

const INTERRUPT_KEYS = keysOf<InterruptListOptions>({
  settled: true,
  outcome: true,
  runId: true,
  agent: true,
  tool: true,
  kind: true,
  risk: true,
  label: true,
  startedBy: true,
  search: true,
  createdBefore: true,
  createdAfter: true,
  order: true,
  limit: true,
  cursor: true,
});
const TEXTS = ['runId', 'agent', 'tool', 'label', 'startedBy', 'search'] as const;

/** A store takes the cursor as `after`. */
function paged<T extends RunListOptions>({ cursor, limit = 50, ...query }: T) {
  return { ...query, limit, ...(cursor !== undefined && { after: cursor }) };
}

export function askedFollow(options: FollowOptions): FollowOptions {
  refuseUnknownKeys('Following a run', options, FOLLOW_KEYS);
  checkSignal('signal', options.signal);
  return options;
}

const FOLLOW_KEYS = keysOf<FollowOptions>({ after: true, signal: true });

/** Checks and returns the number of events to skip. */
export function askedAfter(after: number): number {
  if (Number.isSafeInteger(after) && after >= 0) return after;
  throw new UsageError('invalid-options', { after }, `\`after\` is the number of an event, 0 or more, not ${after}.`);
}

/** Checks and returns an id. */
export function askedId(field: 'runId' | 'interruptId', id: string): string {
  if (typeof id === 'string') return id;
  throw wrongType(field, id, 'string');
}

export function askedWait(options: WaitOptions): WaitOptions {
  refuseUnknownKeys('`wait`', options, WAIT_KEYS);
  checkChoice('until', options.until, ['pause', 'end']);
  checkSignal('signal', options.signal);
  return options;
}

const WAIT_KEYS = keysOf<WaitOptions>({ until: true, signal: true });

export function askedDecide(what: string, options: DecideOptions): void {
  refuseUnknownKeys(what, options, DECIDE_KEYS);
  checkType('drive', options.drive, 'boolean');
  for (const field of ['onChunk', 'mayDecide'] as const) checkType(field, options[field], 'function');
  checkSigned(options);
}

const DECIDE_KEYS = keysOf<DecideOptions>({
  by: true,
  channel: true,
  note: true,
  digest: true,
  mayDecide: true,
  context: true,
  onChunk: true,
  drive: true,
});

export function askedCancel(options: CancelOptions): void {
  refuseUnknownKeys('`cancel`', options, CANCEL_KEYS);
  checkSigned(options);
}

const CANCEL_KEYS = keysOf<CancelOptions>({ by: true, reason: true });

export function askedDrive(options: { readonly context?: unknown }): void {
  refuseUnknownKeys('`drive`', options, ['context']);
  checkSigned(options);
}

/** Checks the fields that say who acts, through which channel, and why. */
export function checkSigned(said: {
  readonly by?: string;
  readonly channel?: string;
  readonly note?: string;
  readonly reason?: string;
  readonly context?: unknown;
}): void {
  checkContext(said.context);
  for (const field of ['by', 'channel', 'note', 'reason'] as const)
    if (said[field] !== null) checkType(field, said[field], 'string');
}

function checkTime(field: string, value: number | undefined): void {
  if (value === undefined || Number.isSafeInteger(value)) return;
  throw new UsageError('invalid-options', { field }, `\`${field}\` is a time in whole milliseconds, not ${value}.`);
}
