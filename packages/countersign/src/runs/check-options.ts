// Checks the options of `ai.runs`, so that every store behaves the same.
import { UsageError } from '../core/errors.ts';
import {
  aBoolean,
  aContext,
  aFunction,
  anything,
  aSignal,
  aString,
  aStringOrNull,
  aTimeMs,
  checkOptions,
  checkValue,
  type OptionTable,
  oneOf,
} from '../core/options.ts';
import type { InterruptQuery, RunQuery } from './port/store.ts';
import type {
  CancelOptions,
  DecideOptions,
  FollowOptions,
  InterruptListOptions,
  RunListOptions,
  WaitOptions,
} from './run-options.ts';

export function runQuery(options: RunListOptions): RunQuery {
  checkOptions('`list`', options, LIST_OPTIONS);
  return paged(options);
}

const LIST_OPTIONS: OptionTable<RunListOptions> = {
  status: oneOf('running', 'waiting', 'done', 'failed', 'cancelled'),
  agent: aString,
  startedBy: aString,
  order: oneOf('newest', 'oldest'),
  limit: anything,
  cursor: anything,
};

export function interruptQuery(options: InterruptListOptions): InterruptQuery {
  checkOptions('`interrupts`', options, INTERRUPT_LIST_OPTIONS);
  return paged(options);
}

/** A misspelt filter is refused: a caller that decides all matches would decide everything. */
const INTERRUPT_LIST_OPTIONS: OptionTable<InterruptListOptions> = {
  settled: aBoolean,
  outcome: oneOf('approved', 'edited', 'rejected', 'answered', 'cancelled', 'expired'),
  runId: aString,
  agent: aString,
  tool: aString,
  kind: oneOf('approval', 'question', 'interrupt', 'unknown-outcome', 'unavailable'),
  risk: oneOf('low', 'medium', 'high'),
  label: aString,
  startedBy: aString,
  search: aString,
  createdBefore: aTimeMs,
  createdAfter: aTimeMs,
  order: oneOf('newest', 'oldest'),
  limit: anything,
  cursor: anything,
};

/** Stores call the cursor `after`. */
function paged<T extends RunListOptions>({ cursor, limit = 50, ...query }: T) {
  return { ...query, limit, ...(cursor !== undefined && { after: cursor }) };
}

export function checkFollow(options: FollowOptions): FollowOptions {
  checkOptions('following a run', options, FOLLOW_OPTIONS);
  return options;
}

const FOLLOW_OPTIONS: OptionTable<FollowOptions> = { after: anything, signal: aSignal };

/** Returns the number of events to skip. */
export function checkAfter(after: number): number {
  if (Number.isSafeInteger(after) && after >= 0) return after;
  throw new UsageError(
    'invalid-options',
    { after },
    `\`after\` must be the number of an event, 0 or more, not ${after}.`,
  );
}

/** Returns the id if it is a string; the store knows whether it exists. */
export function checkId(field: 'runId' | 'interruptId', id: string): string {
  checkValue(field, id, aString);
  return id;
}

export function checkWait(options: WaitOptions): WaitOptions {
  checkOptions('`wait`', options, WAIT_OPTIONS);
  return options;
}

const WAIT_OPTIONS: OptionTable<WaitOptions> = { until: oneOf('pause', 'end'), signal: aSignal };

export function checkDecide(owner: string, options: DecideOptions): void {
  checkOptions(owner, options, DECIDE_OPTIONS);
}

const DECIDE_OPTIONS: OptionTable<DecideOptions> = {
  by: aStringOrNull,
  channel: aStringOrNull,
  note: aStringOrNull,
  digest: anything,
  mayDecide: aFunction,
  context: aContext,
  onChunk: aFunction,
  drive: aBoolean,
};

export function checkCancel(options: CancelOptions): void {
  checkOptions('`cancel`', options, CANCEL_OPTIONS);
}

const CANCEL_OPTIONS: OptionTable<CancelOptions> = { by: aStringOrNull, reason: aStringOrNull };

export function checkDrive(options: { readonly context?: unknown }): void {
  checkOptions('`drive`', options, { context: aContext });
}
