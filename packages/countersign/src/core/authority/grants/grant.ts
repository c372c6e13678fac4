// Grants: an approval for the next calls too, within limits. Its events fold into its remaining uses and budget.

import { decimalNumber, scaled } from '../../decimal.ts';
import { InvariantError } from '../../errors.ts';
import type { Json } from '../../json.ts';
import { type FieldOrigin, isAlarming, type Origins, startsWith } from '../../origin/origin.ts';
import { type Condition, fieldOf, fieldText, meets, pathOf } from '../condition.ts';
import { ANYONE, forbidsGrants, forbidsPlans, type Policies, type Policy, type Vote } from '../policy.ts';
import { isFor, tally } from '../tally.ts';
import { DEFAULT_MAXIMUM, exceeds, type GrantMaximum, isAmount } from './grant-maximum.ts';

/**
 * The runs that a grant serves: those that one of these people started, if `people` is given, of one of these agents, if
 * `agents` is given. One of the two must be given.
 */
export type Serves = { readonly people?: readonly string[]; readonly agents?: readonly string[] };

/** The limits of a grant, as a person sets them. Times are in milliseconds. */
export type GrantRequest = {
  /** Conditions on the input of the call. A call that may not meet one of them is asked about. */
  readonly where?: readonly Condition[];
  /** A JSON Schema that the input must fit too. */
  readonly schema?: { readonly [key: string]: unknown };
  /** By default, only runs of the same agent that the same person started. A request of a run without a person needs it. */
  readonly serves?: Serves;
  /** How many calls may run; 1,000 at most. */
  readonly uses: number;
  /** The sum of this numeric field over all calls may not exceed `total`. */
  readonly budget?: { readonly field: Condition['field']; readonly total: number };
  readonly expiresAt: number;
};

/** A grant. It never changes; its remaining uses and budget follow from its events. */
export type Grant = Required<Pick<GrantRequest, 'where' | 'serves'>> &
  Omit<GrantRequest, 'where' | 'serves'> & {
    readonly id: string;
    readonly tool: string;
    readonly givenBy: string;
    /** The request whose decision it extends. */
    readonly requestId: string;
    /** The votes that approved that request. It covers only calls that they would have approved under their policy. */
    readonly votes: readonly Vote[];
    /** The place of the step, if the request was a plan. */
    readonly step?: number;
    /** It covers only calls with exactly this input. */
    readonly inputDigest?: string;
    /** It serves only calls of this run. */
    readonly runId?: string;
  };

/** `key` names the request that the grant answers: its run, the calls that lead to it, and the request of the call. */
export type GrantEvent = { readonly at: number } & (
  | { readonly type: 'made'; readonly grant: Grant }
  | { readonly type: 'reserved'; readonly key: string; readonly amount?: number }
  /** These calls ran, or may have run. */
  | { readonly type: 'spent'; readonly keys: readonly string[] }
  | { readonly type: 'revoked'; readonly by: string | null; readonly reason?: string }
);

/** A call that the grant let through. `reserved`: it may still run, or its outcome is unknown. */
export type GrantUse = {
  readonly key: string;
  readonly amount?: number;
  readonly at: number;
  readonly status: 'reserved' | 'spent';
};

export type GrantState = {
  readonly grant: Grant;
  readonly madeAt: number;
  readonly uses: ReadonlyMap<string, GrantUse>;
  readonly revoked?: { readonly by: string | null; readonly at: number; readonly reason?: string };
};

/** `used-up`: all uses are taken, or the budget. */
export type GrantStatus = 'active' | 'used-up' | 'expired' | 'revoked';

/** Throws an `InvariantError` if the events are not those of one grant. */
export function foldGrant(events: readonly GrantEvent[]): GrantState {
  const [made, ...rest] = events;
  if (made?.type !== 'made') throw notAGrant('It does not begin with a grant.');
  let revoked: GrantState['revoked'];
  const uses = new Map<string, GrantUse>();
  for (const event of rest)
    switch (event.type) {
      case 'made':
        throw notAGrant('It is made twice.');
      case 'reserved': {
        const { key, amount, at } = event;
        uses.set(key, { key, ...(amount !== undefined && { amount }), at, status: 'reserved' });
        break;
      }
      case 'spent':
        for (const key of event.keys) {
          const use = uses.get(key);
          if (!use) throw notAGrant(`The call ${key} has no use in it.`);
          uses.set(key, { ...use, status: 'spent' });
        }
        break;
      case 'revoked':
        revoked = { by: event.by, at: event.at, ...(event.reason !== undefined && { reason: event.reason }) };
        break;
    }
  return { grant: made.grant, madeAt: made.at, uses, ...(revoked && { revoked }) };
}

const notAGrant = (problem: string): InvariantError =>
  new InvariantError('invariant', {}, `The record of a grant cannot be read. ${problem}`);

/**
 * The record without the reservations of these calls, which did not run and cannot run under the grant. A released use leaves
 * no trace, so that the record stays as small as its uses.
 */
export function withoutUses(events: readonly GrantEvent[], keys: ReadonlySet<string>): readonly GrantEvent[] {
  return events.filter((event) => event.type !== 'reserved' || !keys.has(event.key));
}

/** All uses but the one of `key`. */
function takenUses({ uses }: GrantState, key?: string): readonly GrantUse[] {
  return [...uses.values()].filter((use) => use.key !== key);
}

export function grantStatus(state: GrantState, now: number): GrantStatus {
  const { grant, revoked } = state;
  if (revoked) return 'revoked';
  if (now >= grant.expiresAt) return 'expired';
  const { uses, amount } = grantLeft(state);
  return uses === 0 || amount === 0 ? 'used-up' : 'active';
}

/** The remaining calls, and the remaining amount if there is a budget. */
export function grantLeft(state: GrantState): { readonly uses: number; readonly amount?: number } {
  const { grant } = state;
  const taken = takenUses(state);
  const uses = grant.uses > taken.length ? grant.uses - taken.length : 0;
  if (!grant.budget) return { uses };
  const { values, exponent } = scaled([grant.budget.total, ...amountsOf(taken)]);
  const [total = 0n, ...rest] = values;
  const left = rest.reduce((sum, amount) => sum - amount, total);
  return { uses, amount: left <= 0n ? 0 : decimalNumber(left, exponent) };
}

/** A call that asks whether a grant covers it. */
export type GrantedCall = {
  readonly key: string;
  readonly tool: string;
  /** The input that would run. */
  readonly input: Json;
  /** Where its values came from; absent where nobody uses that. */
  readonly origins?: Origins | undefined;
  readonly startedBy: string | null;
  readonly agent: string;
  /** Who took part: the starter, the author of the message, and editors. */
  readonly requesters?: readonly string[];
  /** The policies of the request that would be asked. */
  readonly policies?: Policies | undefined;
  /** The input fits the schema and the digest of the grant. */
  readonly fitsSchema: boolean;
  readonly now: number;
};

export type MayUse =
  | { readonly ok: true; readonly amount?: number; readonly isReserved: boolean }
  /** `isFull`: another use is refused because all of them, or the budget, are taken. */
  | { readonly ok: false; readonly why: string; readonly isFull?: true };

/** Whether the grant lets the call run. Anything that cannot be known means: ask. */
export function mayUse(state: GrantState, call: GrantedCall): MayUse {
  const { grant, revoked } = state;
  if (revoked) return refuse('It was revoked.');
  if (grant.runId !== undefined && !call.key.startsWith(`${grant.runId}:`)) return refuse('It is for another run.');
  if (call.now >= grant.expiresAt) return refuse('It has expired.');
  const why = whyNotCovered(grant, call);
  if (why !== undefined) return refuse(why);
  const amount = grant.budget && fieldOf(call.input, grant.budget.field);
  if (grant.budget && !isAmount(amount)) return refuse(`${fieldText(grant.budget.field)} is not an amount.`);
  const found = { ...(typeof amount === 'number' && { amount }) };
  const own = state.uses.get(call.key);
  // The reservation was made for this call and this amount, so it counts already.
  if (own && own.amount === found.amount) return { ok: true, ...found, isReserved: true };
  const taken = takenUses(state, call.key);
  if (taken.length >= grant.uses) return { ok: false, why: 'All of its uses are taken.', isFull: true };
  if (grant.budget && exceeds([...amountsOf(taken), found.amount ?? 0], grant.budget.total))
    return { ok: false, why: 'Its budget is too small for this call.', isFull: true };
  return { ok: true, ...found, isReserved: false };
}

const refuse = (why: string): MayUse => ({ ok: false, why });

/** Why the grant does not cover the call, apart from how much of it is left. */
export function whyNotCovered(
  grant: Pick<Grant, 'tool' | 'where' | 'schema' | 'serves' | 'votes' | 'step' | 'inputDigest'>,
  call: Omit<GrantedCall, 'key' | 'now'>,
): string | undefined {
  const { tool, where, schema, serves, votes, inputDigest } = grant;
  const {
    input,
    origins,
    startedBy,
    agent,
    policies = ANYONE,
    requesters = startedBy === null ? [] : [startedBy],
  } = call;
  if (tool !== call.tool) return `It is for ${tool}.`;
  if (serves.agents && !serves.agents.includes(agent)) return `It does not serve the agent ${agent}.`;
  if (serves.people && !(startedBy !== null && serves.people.includes(startedBy)))
    return `It does not serve ${startedBy ?? 'runs without a person'}.`;
  if (meets(where, input, origins) !== true) return 'The input does not meet its conditions.';
  const alarming = origins?.find((origin) => isAlarming(origin) && !isNamed(grant, origin));
  if (alarming) return `${alarming.field.join('.') || 'A value'} may come from an untrusted source.`;
  if ((schema ?? inputDigest) !== undefined && !call.fitsSchema) return 'The input does not fit its schema.';
  if (policies.some(inputDigest === undefined ? forbidsGrants : forbidsPlans))
    return 'The policy of the call allows no grants.';
  // What these people could not have approved themselves, their grant does not let through.
  const approved = tally(policies, { votes, requesters }, input);
  if (approved.status !== 'settled' || !isFor(approved.vote))
    return 'The people who gave it could not approve this call.';
  return undefined;
}

/**
 * The people who gave the grant named the value itself, so it does not matter where the call has it from. Those who approved a plan saw
 * the values of its exact steps; the conditions of its other steps are those of the agent.
 */
function isNamed(
  { where, step, inputDigest }: Pick<Grant, 'where' | 'step' | 'inputDigest'>,
  { field: at }: FieldOrigin,
) {
  if (inputDigest !== undefined || step !== undefined) return inputDigest !== undefined;
  return where.some(({ field, equals, oneOf }) => (equals ?? oneOf) !== undefined && startsWith(at, pathOf(field)));
}

/** How wide a policy lets grants be. */
export function maximumOf(policy: Policy): GrantMaximum | false {
  return forbidsGrants(policy) ? false : policy.grants || DEFAULT_MAXIMUM;
}

const amountsOf = (uses: readonly GrantUse[]): readonly number[] => uses.flatMap(({ amount }) => amount ?? []);
