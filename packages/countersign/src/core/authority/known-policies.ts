// Whether this release knows every requirement of a recorded policy.
import type { RunEvent } from '../run/event.ts';
import type { Policies, Policy } from './policy.ts';
import { PolicySchema } from './schemas.ts';

/** The same event is folded several times. */
const known = new WeakSet<Policy>();

/** False if a later release wrote a policy of the event: this one would miss some of its requirements. */
export function knowsPolicies(event: RunEvent): boolean {
  return policiesIn(event).every((policy) => {
    if (isEmpty(policy)) return true;
    if (!known.has(policy) && !PolicySchema.safeParse(policy).success) return false;
    known.add(policy);
    return true;
  });
}

function isEmpty(policy: Policy): boolean {
  for (const _field in policy) return false;
  return true;
}

function policiesIn(event: RunEvent): Policies | readonly [] {
  if (event.type === 'vote-cast') return event.edit?.asked.policies ?? [];
  if (event.type === 'policy-applied' || event.type === 'call-granted') return event.policies;
  return event.type === 'call-interrupted' && event.request.kind !== 'inside' ? event.request.authority.policies : [];
}
