// Random policies, people, votes and inputs, for the laws of authority.
import fc from 'fast-check';
import { joined } from '../../src/core/authority/may-run.ts';
import type { Ballot, Policies, Policy, Vote, Who } from '../../src/core/authority/policy.ts';
import { isFor, tally } from '../../src/core/authority/tally.ts';

export const PEOPLE = ['ann', 'bob', 'cleo', 'dan'];
export const ROLES = ['finance', 'security'];
const person = fc.constantFrom(...PEOPLE);

const who: fc.Arbitrary<Who> = fc.oneof(
  fc.record({ people: fc.uniqueArray(person, { minLength: 1, maxLength: 3 }) }),
  fc.record({ roles: fc.uniqueArray(fc.constantFrom(...ROLES), { minLength: 1, maxLength: 2 }) }),
);
export const condition = fc.record({ field: fc.constant('amount'), above: fc.constantFrom(10, 100, 1_000) });
const group = fc.record(
  { of: who, count: fc.integer({ min: 1, max: 2 }), when: fc.array(condition, { minLength: 1, maxLength: 1 }) },
  { requiredKeys: ['of', 'count'] },
);
export const policy = fc.record(
  {
    deciders: who,
    notRequester: fc.constant(true as const),
    quorum: fc.array(group, { minLength: 1, maxLength: 2 }),
    veto: fc.constantFrom('any' as const, 'majority' as const),
    signed: fc.constant('passkey' as const),
    delegates: fc.constant(true as const),
    onExpiry: fc.constant('approve' as const),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Policy>;
export const policies: fc.Arbitrary<Policies> = fc
  .array(policy, { minLength: 1, maxLength: 3 })
  .map((all) => joined(all));

const decision = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ type: 'approve' }) },
  { weight: 1, arbitrary: fc.constant({ type: 'reject' }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5_000 }).map((amount) => ({ type: 'approve', edit: { amount } })) },
);
export const vote: fc.Arbitrary<Vote> = fc.record(
  {
    by: person,
    roles: fc.subarray(ROLES),
    onBehalfOf: person,
    signature: fc.constant(true),
    decision,
  },
  { requiredKeys: ['by', 'decision'] },
);
export const ballot: fc.Arbitrary<Ballot> = fc.record({
  votes: fc.array(vote, { maxLength: 5 }),
  requesters: fc.subarray(PEOPLE, { maxLength: 2 }),
});
export const input = fc.integer({ min: 1, max: 5_000 }).map((amount) => ({ amount }));

export const approves = (all: Policies, votes: Ballot, given: { amount: number }): boolean => {
  const counted = tally(all, votes, given);
  return counted.status === 'settled' && isFor(counted.vote);
};
