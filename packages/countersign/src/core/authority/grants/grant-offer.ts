// A grant that nobody has given, and the uses that calls of the past would have taken from it.

import type { CallAsked } from '../may-run.ts';
import { ANYONE, type Policies } from '../policy.ts';
import { foldGrant, type Grant, type GrantEvent, type GrantRequest, maximumOf, mayUse } from './grant.ts';

/** The limits of a grant. Its expiry does not count, because the past is over. */
export type OfferedGrant = Omit<GrantRequest, 'expiresAt' | 'schema'> & { readonly tool: string };

/** `events`: what the calls before have taken. `key`: of the call that asks. */
export type Offer = { readonly events: readonly GrantEvent[]; readonly key: string; readonly fitsSchema: boolean };

type Asked = Pick<CallAsked, 'tool' | 'input' | 'agent'> & { readonly startedBy: string | null };

/** The people who could approve each call give it. */
export function offeredGrant({ where = [], serves = {}, tool, uses, budget }: OfferedGrant): readonly GrantEvent[] {
  const votes = [{ by: 'simulation', decision: { type: 'approve' } }];
  const limits = { id: '', tool, where, serves, uses, votes, givenBy: '', requestId: '' };
  const grant: Grant = { ...limits, ...(budget && { budget }), expiresAt: Number.POSITIVE_INFINITY };
  return [{ type: 'made', at: 0, grant }];
}

/** Whether the grant covers such calls, apart from how much of it is left. */
export function matchesOffer(events: readonly GrantEvent[], fitsSchema: boolean, call: Asked): boolean {
  const verdict = mayUse(foldGrant(events.slice(0, 1)), { ...factsOf(call), key: '', fitsSchema, now: 0 });
  return verdict.ok || verdict.isFull === true;
}

/** The events with the use of this call; undefined if the grant does not cover it. A policy that allows no grants asks. */
export function offered(
  { events, key, fitsSchema }: Offer,
  call: Asked,
  policies: Policies = ANYONE,
): readonly GrantEvent[] | undefined {
  const [made] = events;
  if (made?.type !== 'made' || events.length > made.grant.uses) return undefined;
  if (policies.some((policy) => maximumOf(policy) === false)) return undefined;
  const verdict = mayUse(foldGrant(events), { ...factsOf(call), key, fitsSchema, now: 0 });
  if (!verdict.ok) return undefined;
  const { amount } = verdict;
  return [...events, { type: 'reserved', at: 0, key, ...(amount !== undefined && { amount }) }];
}

/** Without its policies: whether its people would let the grant count is not asked. */
const factsOf = ({ tool, input, agent, startedBy }: Asked) => ({ tool, input, agent: agent ?? '', startedBy });
