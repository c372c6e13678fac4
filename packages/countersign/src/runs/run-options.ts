// The options of `ai.runs`, and their checks, so that every store behaves the same.

import type { GrantRequest } from '../core/authority/grants/grant.ts';
import { UsageError } from '../core/errors.ts';
import { isObject, type Json } from '../core/json.ts';
import {
  aBoolean,
  aContext,
  aFunction,
  anything,
  aSignal,
  aString,
  aStringOrNull,
  aTimeMs,
  aTimerMs,
  checkOptions,
  checkValue,
  type OptionKind,
  type OptionTable,
  oneOf,
} from '../core/options.ts';
import type { RequestKind } from '../core/request/request.ts';
import type { Chunk } from '../loop/stream/chunk.ts';
import type { Context } from '../loop/tool/definition.ts';
import type { RequestQuery, RunQuery } from './port/store.ts';

/** Options of a decision. */
export type DecideOptions<C extends Context = Context> = {
  /** The person who made the decision. */
  readonly by?: string;
  /** The channel, such as `inbox`, `chat` or `cli`. */
  readonly channel?: string;
  /** A note that is recorded with the decision. */
  readonly note?: string;
  /** The digest of the card that the person saw. A decision on another card is refused. */
  readonly digest?: string;
  /** The roles of the person, as the sign-in knows them; those that `people.rolesOf` says are added. */
  readonly roles?: readonly string[];
  /** The person whom the decider stands in for. */
  readonly onBehalfOf?: string;
  /** The signature of the decision with a passkey, if the policy of the request asks for one. */
  readonly signature?: Json;
  /** How long the card was in front of the person. It is recorded with the vote. */
  readonly seenForMs?: number;
  /** Pass true to record an edit after which the people who are known cannot give the votes that are needed. */
  readonly evenIfOutOfReach?: boolean;
  /**
   * Gives a grant with an approval: the next calls within it run without a request. It is made once the approval has settled
   * the request, and an invalid one refuses the decision. Needs `by`.
   */
  readonly grant?: GrantRequest;
  /** The context of the tools while this process drives the run. It is not stored. */
  readonly context?: C;
  /** Called with each chunk while this process drives the run. A listener that throws is not called again. */
  readonly onChunk?: (chunk: Chunk) => void;
  /** Pass false to leave the run to another worker. */
  readonly drive?: boolean;
};

export const someNames: OptionKind = {
  is: 'a list of names',
  fits: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
};

export const DECIDE_OPTIONS: OptionTable<DecideOptions> = {
  by: aStringOrNull,
  channel: aStringOrNull,
  note: aStringOrNull,
  digest: anything,
  grant: anything,
  roles: someNames,
  onBehalfOf: aString,
  signature: anything,
  seenForMs: aTimeMs,
  evenIfOutOfReach: aBoolean,
  context: aContext,
  onChunk: aFunction,
  drive: aBoolean,
};

/** Options of `recall`: the person, and why. */
export type RecallOptions = Pick<DecideOptions, 'by' | 'channel' | 'note' | 'roles' | 'onBehalfOf'> & {
  readonly reason?: string;
};

/** Options of `cancel`: the person who cancels, and a reason. */
export type CancelOptions = { readonly by?: string; readonly reason?: string };

export const CANCEL_OPTIONS: OptionTable<CancelOptions> = { by: aStringOrNull, reason: aStringOrNull };

/** Selects runs. `cursor` comes from the page before; `limit` is 50 by default. */
export type RunListOptions = Partial<Omit<RunQuery, 'after'>> & { readonly cursor?: string };
/** Selects requests. `cursor` comes from the page before; `limit` is 50 by default. */
export type RequestListOptions = Partial<Omit<RequestQuery, 'after' | 'kind'>> & {
  readonly kind?: RequestKind;
  readonly cursor?: string;
};

export function runQuery(options: RunListOptions): RunQuery {
  checkOptions('`list`', options, LIST_OPTIONS);
  return paged(options);
}

const BOTH_LISTS = {
  agent: aString,
  startedBy: aString,
  order: oneOf('newest', 'oldest'),
  limit: anything,
  cursor: anything,
};

const LIST_OPTIONS: OptionTable<RunListOptions> = {
  status: oneOf('running', 'waiting', 'done', 'failed', 'cancelled'),
  ...BOTH_LISTS,
};

export function requestQuery(options: RequestListOptions): RequestQuery {
  checkOptions('`requests`', options, INTERRUPT_LIST_OPTIONS);
  return paged(options);
}

/** A misspelt filter is refused: a caller that decides all matches would decide everything. */
const INTERRUPT_LIST_OPTIONS: OptionTable<RequestListOptions> = {
  settled: aBoolean,
  outcome: oneOf(
    'approved',
    'edited',
    'rejected',
    'changes-asked',
    'answered',
    'cancelled',
    'expired',
    'done',
    'failed',
    'unknown',
    'not-run',
    'granted',
    'observed',
  ),
  runId: aString,
  tool: aString,
  kind: oneOf('approval', 'question', 'interrupt', 'doubt', 'unavailable', 'recall'),
  risk: oneOf('low', 'medium', 'high'),
  label: aString,
  search: aString,
  createdBefore: aTimeMs,
  createdAfter: aTimeMs,
  settledSince: aTimeMs,
  settledBefore: aTimeMs,
  deciders: {
    is: 'an object with people and roles',
    fits: (value) => isObject(value) && someNames.fits(value.people) && someNames.fits(value.roles),
  },
  ...BOTH_LISTS,
};

/** Stores call the cursor `after`. */
function paged<T extends RunListOptions>({ cursor, limit = 50, ...query }: T) {
  return { ...query, limit, ...(cursor !== undefined && { after: cursor }) };
}

/** Options of following a run: `after` is the last `seq` seen, `signal` stops it. */
export type FollowOptions = { readonly after?: number; readonly signal?: AbortSignal };

export const FOLLOW_OPTIONS: OptionTable<FollowOptions> = { after: anything, signal: aSignal };

/** Options of `wait`. */
export type WaitOptions = {
  /** `pause`, the default, also resolves when the run waits for a person. */
  readonly until?: 'pause' | 'end';
  /** Stops waiting; `wait` rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** Rejects with `wait-timeout` after this time, and says what the run waits for. No limit by default. */
  readonly timeoutMs?: number;
};

export const WAIT_OPTIONS: OptionTable<WaitOptions> = {
  until: oneOf('pause', 'end'),
  signal: aSignal,
  timeoutMs: aTimerMs,
};

/** Returns the number of events to skip. */
export function checkAfter(after: number): number {
  if (Number.isSafeInteger(after) && after >= 0) return after;
  const message = `\`after\` must be the number of an event, 0 or more, not ${after}.`;
  throw new UsageError('invalid-options', { after }, message);
}

/** Returns the id if it is a string; the store knows whether it exists. */
export function checkId(field: 'runId' | 'requestId', id: string): string {
  checkValue(field, id, aString);
  return id;
}
