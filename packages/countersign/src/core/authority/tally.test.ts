// Policies: the tally as a table of votes.
import { describe, expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { mayDecide } from './may-decide.ts';
import { type Ballot, type Policies, type Policy, shownPolicy, type Vote } from './policy.ts';
import { policyProblem } from './policy-problem.ts';
import { tally as tallyAll } from './tally.ts';

const approve: Json = { type: 'approve' };
const reject: Json = { type: 'reject' };

const vote = (by: string, roles: readonly string[] = [], decision: Json = approve): Vote => ({ by, roles, decision });
const ballot = (...votes: Vote[]): Ballot => ({ votes, requesters: ['asker'] });
const finance = { roles: ['finance'] };
const cfo = { roles: ['cfo'] };
const tally = (policy: Policy, votes: Ballot, input: Json) => tallyAll([policy], votes, input);
/** Why the vote cannot be recorded. */
function voteProblem(policies: Policies, votes: Ballot, cast: Vote): string | undefined {
  const verdict = mayDecide(policies, votes, cast);
  return verdict.ok ? undefined : verdict.why;
}
const two: Policy = { quorum: [{ of: finance, count: 2 }] };

describe('tally', () => {
  test('without a policy, one vote of anyone settles', () => {
    expect(tally({}, ballot(), {})).toEqual({ status: 'waiting', missing: [{ of: {}, count: 1 }] });
    expect(tally({}, ballot({ by: null, decision: approve }), {})).toMatchObject({ status: 'settled' });
  });

  test('each group needs its votes, and one person counts once, in one group', () => {
    const policy: Policy = {
      quorum: [
        { of: finance, count: 1 },
        { of: cfo, count: 1 },
      ],
    };
    const both = vote('anna', ['finance', 'cfo']);
    expect(tally(policy, ballot(both), {})).toEqual({ status: 'waiting', missing: [{ of: cfo, count: 1 }] });
    expect(tally(policy, ballot(both, both), {})).toMatchObject({ status: 'waiting' });
    // Anna moves to the other group, because Ben fits only one.
    expect(tally(policy, ballot(both, vote('ben', ['finance'])), {})).toMatchObject({ status: 'settled' });
  });

  test('what is missing of the same people is one group, within a policy and across policies', () => {
    const one: Policy = { quorum: [{ of: finance, count: 1 }] };
    const pair: Policy = {
      quorum: [...(one.quorum ?? []), { of: finance, count: 1, when: [{ field: 'amount', above: 9 }] }],
    };
    expect(tally(pair, ballot(), { amount: 10 })).toEqual({ status: 'waiting', missing: [{ of: finance, count: 2 }] });
    // One vote counts for each policy.
    expect(tallyAll([one, one, { quorum: [{ of: cfo, count: 1 }] }], ballot(), {})).toEqual({
      status: 'waiting',
      missing: [
        { of: finance, count: 1 },
        { of: cfo, count: 1 },
      ],
    });
  });

  test('a delegate and the person they stand in for count once', () => {
    const forBen: Vote = { ...vote('dora', ['finance']), onBehalfOf: 'ben' };
    expect(tally(two, ballot(forBen, vote('ben', ['finance'])), {})).toMatchObject({ status: 'waiting' });
    expect(tally(two, ballot(forBen, vote('dora', ['finance'])), {})).toMatchObject({ status: 'waiting' });
    expect(tally(two, ballot(forBen, vote('anna', ['finance'])), {})).toMatchObject({ status: 'settled' });
  });

  test('a condition adds a group, also if it cannot be checked', () => {
    const policy: Policy = {
      quorum: [
        { of: finance, count: 1 },
        { of: cfo, count: 1, when: [{ field: 'amount', above: 10_000 }] },
      ],
    };
    const votes = ballot(vote('anna', ['finance']));
    expect(tally(policy, votes, { amount: 10_000 })).toMatchObject({ status: 'settled' });
    expect(tally(policy, votes, { amount: 10_001 })).toMatchObject({ missing: [{ of: cfo, count: 1 }] });
    expect(tally(policy, votes, { amount: '5' })).toMatchObject({ status: 'waiting' });
    expect(tally(policy, votes, {})).toMatchObject({ status: 'waiting' });
  });

  test('one rejection settles, or a majority', () => {
    const no = vote('ben', ['finance'], reject);
    expect(tally(two, ballot(no), {})).toMatchObject({ status: 'settled', vote: { decision: reject } });
    const majority: Policy = { quorum: [{ of: finance, count: 2 }], veto: 'majority' };
    expect(tally(majority, ballot(no), {})).toMatchObject({ status: 'waiting' });
    expect(tally(majority, ballot(no, vote('cara', ['finance'], reject)), {})).toMatchObject({
      vote: { decision: reject },
    });
    const yes = ballot(no, vote('anna', ['finance']), vote('cara', ['finance']));
    expect(tally(majority, yes, {})).toMatchObject({ status: 'settled', vote: { decision: approve } });
  });

  test('the last vote of a person counts, and an edit voids the votes before it', () => {
    const edit: Json = { type: 'approve', edit: { amount: 5 } };
    const anna = vote('anna', ['finance']);
    const ben = vote('ben', ['finance'], edit);
    expect(tally(two, ballot(anna, vote('anna', ['finance'], reject)), {})).toMatchObject({
      vote: { decision: reject },
    });
    expect(tally(two, ballot(anna, ben), {})).toMatchObject({ status: 'waiting', missing: [{ count: 1 }] });
    expect(tally(two, ballot(anna, ben, anna), {})).toMatchObject({ status: 'settled', vote: anna });
    const again = vote('cara', ['finance'], { type: 'approve', edit: { amount: 6 } });
    expect(tally(two, ballot(anna, ben, again), {})).toMatchObject({ missing: [{ count: 1 }] });
    const majority: Policy = { ...two, veto: 'majority' };
    const [noAnna, noCara] = [vote('anna', ['finance'], reject), vote('cara', ['finance'], reject)];
    expect(tally(majority, ballot(noAnna, ben, noCara), {})).toMatchObject({ status: 'waiting' });
  });

  test('with four eyes, neither the requester nor an editor counts', () => {
    const policy: Policy = { deciders: finance, notRequester: true };
    const edit = vote('ben', ['finance'], { type: 'approve', edit: 1 });
    expect(voteProblem([policy], ballot(), vote('asker', ['finance']))).toContain('started the run');
    expect(voteProblem([policy], ballot(), { ...vote('dora', ['finance']), onBehalfOf: 'asker' })).toBeDefined();
    expect(voteProblem([policy], ballot(), edit)).toBeUndefined();
    expect(tally(policy, ballot(edit), {})).toMatchObject({ status: 'waiting' });
    expect(voteProblem([policy], ballot(edit), vote('ben', ['finance']))).toContain('edited the input');
    expect(voteProblem([policy], ballot(), vote('asker', ['finance'], reject))).toBeUndefined();
  });

  test('after an escalation, the people it names count', () => {
    const escalated: Ballot = { ...ballot(vote('boss', ['manager'])), escalatedTo: [{ roles: ['manager'] }] };
    expect(voteProblem([{ deciders: finance }], ballot(), vote('boss', ['manager']))).toContain(
      'not among its deciders',
    );
    expect(voteProblem([{ deciders: finance }], escalated, vote('boss', ['manager']))).toBeUndefined();
    expect(tally({ deciders: finance }, escalated, {})).toMatchObject({ status: 'settled' });
  });

  test('an unsigned vote does not count under a policy with signatures', () => {
    const policy: Policy = { deciders: finance, signed: 'passkey' };
    const anna = vote('anna', ['finance']);
    expect(mayDecide([policy], ballot(), anna)).toMatchObject({ ok: false, code: 'signature-required' });
    expect(tally(policy, ballot(anna), {})).toMatchObject({ status: 'waiting' });
    expect(tally(policy, ballot({ ...anna, signature: {} }), {})).toMatchObject({ status: 'settled' });
  });

  test('with four eyes and an unknown requester, only people whom that policy names approve', () => {
    const unknown: Ballot = { votes: [], requesters: [] };
    const [anna, fourEyes] = [vote('anna', ['finance']), { notRequester: true } as const];
    expect(voteProblem([fourEyes], unknown, anna)).toContain('name `deciders`');
    expect(tallyAll([fourEyes], { ...unknown, votes: [anna] }, {})).toMatchObject({ status: 'waiting' });
    expect(voteProblem([{ ...fourEyes, deciders: finance }], unknown, anna)).toBeUndefined();
    // What another policy says never weakens this one.
    expect(voteProblem([fourEyes, { deciders: finance }], unknown, anna)).toContain('name `deciders`');
  });
});

describe('several policies', () => {
  const policies: Policies = [{ deciders: finance }, { deciders: cfo }];
  const [anna, carl] = [vote('anna', ['finance']), vote('carl', ['cfo'])];

  test('must all be satisfied, each by votes of its own people', () => {
    expect(tallyAll(policies, ballot(anna), {})).toEqual({ status: 'waiting', missing: [{ of: cfo, count: 1 }] });
    expect(tallyAll(policies, ballot(anna, carl), {})).toMatchObject({ status: 'settled' });
    expect(tallyAll(policies, ballot(vote('zoe', ['finance', 'cfo'])), {})).toMatchObject({ status: 'settled' });
  });

  test('one that is rejected rejects the request', () => {
    const no = vote('carl', ['cfo'], reject);
    expect(tallyAll(policies, ballot(anna, no), {})).toMatchObject({ status: 'settled', vote: no });
  });

  test('a person may vote if one of them names the person, and a policy that names nobody limits every vote', () => {
    expect(voteProblem(policies, ballot(), anna)).toBeUndefined();
    expect(voteProblem(policies, ballot(), vote('eve'))).toContain('not among its deciders');
    expect(voteProblem([...policies, { notRequester: true }], ballot(), vote('asker', ['cfo']))).toContain(
      'another person',
    );
    expect(mayDecide([...policies, { signed: 'passkey' }], ballot(), anna)).toMatchObject({
      code: 'signature-required',
    });
  });

  test('an escalation within one of them adds nobody to the other', () => {
    const boss = vote('boss', ['manager']);
    const escalated: Ballot = { ...ballot(boss), escalatedTo: [{ roles: ['manager'], policy: 0 }] };
    expect(tallyAll(policies, escalated, {})).toEqual({ status: 'waiting', missing: [{ of: cfo, count: 1 }] });
  });
});

test('a policy that nobody can satisfy is refused', () => {
  const people = { people: ['anna', 'ben'] };
  expect(policyProblem({ quorum: [{ of: people, count: 2 }] })).toBeUndefined();
  expect(policyProblem({ quorum: [{ of: people, count: 3 }] })).toContain('at most 2');
  const both = [
    { of: people, count: 1 },
    { of: people, count: 2 },
  ];
  expect(policyProblem({ quorum: both })).toContain('at most 2');
  expect(policyProblem({ deciders: { roles: ['finanse'] } }, ['finance'])).toContain('the role finanse');
  expect(policyProblem({ deciders: { roles: [] } })).toContain('names no people');
  expect(policyProblem({ decider: finance })).toContain('no decider');
  expect(policyProblem({ quorum: [{ of: finance, count: 0 }] })).toContain('whole number');
});

test('screens name people once, with the most votes that a policy asks of them', () => {
  const two = { of: finance, count: 2 };
  const one = { of: finance, count: 1 };
  const quorumOf = (...policies: [Policy, ...Policy[]]) => shownPolicy(policies)?.quorum;
  expect(quorumOf({ deciders: finance }, { deciders: finance, grants: false })).toEqual([one]);
  expect(quorumOf({ deciders: finance }, { quorum: [two] }, { deciders: cfo })).toEqual([two, { of: cfo, count: 1 }]);
  expect(quorumOf({ quorum: [one, one] }, { notRequester: true })).toEqual([one, one]);
});
