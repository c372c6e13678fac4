// The laws of counting votes, and of joining policies.
import fc from 'fast-check';
import { expect } from 'vitest';
import { mayDecide, settlesAlone } from '../../src/core/authority/may-decide.ts';
import { joined } from '../../src/core/authority/may-run.ts';
import type { Ballot, Policies, Vote } from '../../src/core/authority/policy.ts';
import { outOfReach } from '../../src/core/authority/reach.ts';
import { isEdit, isFor, peopleOf, tally } from '../../src/core/authority/tally.ts';
import { law } from './law.ts';
import { approves, ballot, input, PEOPLE, policies, policy, ROLES, vote } from './random-authority.ts';

const RUNS = 500;
/** Approvals and rejections of the input as it is. */
const plainVotes = fc.array(
  vote.filter((one) => !isEdit(one)),
  { maxLength: 5 },
);
const requesters = fc.subarray(PEOPLE, { maxLength: 2 });
const several = fc.array(policy, { minLength: 1, maxLength: 3 });

/** Settled in favour, settled against, or how many votes of whom are missing. */
function verdict(all: Policies, votes: Ballot, given: { amount: number }): unknown {
  const counted = tally(all, votes, given);
  return counted.status === 'settled' ? isFor(counted.vote) : 'waiting';
}

/** The votes that the door lets in, one after the other, until they settle. */
function admitted(all: Policies, { votes, ...people }: Ballot, given: { amount: number }): readonly Vote[] {
  const kept: Vote[] = [];
  for (const one of votes) {
    if (tally(all, { ...people, votes: kept }, given).status === 'settled') break;
    if (mayDecide(all, { ...people, votes: kept }, one).ok) kept.push(one);
  }
  return kept;
}

law(
  'whatever settles joined policies in favour settles each of them in favour',
  fc.property(several, ballot, input, (all, votes, given) => {
    const together = joined(all);
    const ballots = { ...votes, votes: admitted(together, votes, given) };
    if (!approves(together, ballots, given)) return;
    for (const one of together) expect(approves([one], ballots, given)).toBe(true);
    for (const one of all) expect(approves([one], ballots, given)).toBe(true);
  }),
  RUNS,
);
law(
  'joining is commutative, associative and idempotent, as to what votes settle',
  fc.property(several, several, ballot, input, (some, more, votes, given) => {
    const together = verdict(joined([...some, ...more]), votes, given);
    expect(verdict(joined([...more, ...some]), votes, given)).toBe(together);
    expect(verdict(joined([...joined(some), ...joined(more)]), votes, given)).toBe(together);
    expect(verdict(joined([...some, ...more, ...some]), votes, given)).toBe(together);
  }),
  RUNS,
);
law(
  'a vote that comes twice counts once',
  fc.property(policies, plainVotes, requesters, input, fc.nat(), (all, votes, asked, given, place) => {
    fc.pre(votes.length > 0);
    const at = place % votes.length;
    const twice = [...votes.slice(0, at + 1), ...votes.slice(at)];
    expect(tally(all, { votes: twice, requesters: asked }, given)).toEqual(
      tally(all, { votes, requesters: asked }, given),
    );
  }),
  RUNS,
);
law(
  'the order of the votes of different people does not matter',
  fc.property(policies, plainVotes, requesters, input, fc.array(fc.nat()), (all, given, asked, amount, keys) => {
    const seen = new Set<string>();
    const votes = given.filter((one) => {
      if (peopleOf(one).some((person) => seen.has(person))) return false;
      for (const person of peopleOf(one)) seen.add(person);
      return true;
    });
    const shuffled = votes
      .map((one, index) => ({ one, key: keys[index] ?? index }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ one }) => one);
    expect(verdict(all, { votes: shuffled, requesters: asked }, amount)).toBe(
      verdict(all, { votes, requesters: asked }, amount),
    );
  }),
  RUNS,
);
law(
  'the approval of one more person never makes an approved request wait',
  fc.property(policies, plainVotes, requesters, vote, input, (all, votes, asked, more, given) => {
    if (!approves(all, { votes, requesters: asked }, given)) return;
    const fresh = { ...more, by: 'eve', decision: { type: 'approve' } };
    if (fresh.onBehalfOf !== undefined && votes.flatMap(peopleOf).includes(fresh.onBehalfOf)) return;
    expect(approves(all, { votes: [...votes, fresh], requesters: asked }, given)).toBe(true);
  }),
  RUNS,
);
law(
  'a rejection never approves, whoever gives it',
  fc.property(policies, ballot, vote, input, (all, given, more, amount) => {
    const votes = admitted(all, given, amount);
    const against = { ...more, decision: { type: 'reject' } };
    const after = { ...given, votes: [...votes, against] };
    if (!mayDecide(all, { ...given, votes }, against).ok || !approves(all, after, amount)) return;
    expect(approves(all, { ...given, votes }, amount)).toBe(true);
  }),
  RUNS,
);
law(
  'where one rejection settles, no other votes approve while it stands',
  fc.property(policies, plainVotes, requesters, input, (all, votes, asked, given) => {
    const strict = all.map(({ veto: _veto, ...rest }) => rest) as unknown as Policies;
    const against = { by: 'eve', roles: ROLES, decision: { type: 'reject' }, signature: true };
    if (!mayDecide(strict, { votes: [], requesters: asked }, against).ok) return;
    const others = votes.filter((one) => !peopleOf(one).includes('eve'));
    expect(verdict(strict, { votes: [against, ...others], requesters: asked }, given)).toBe(false);
  }),
  RUNS,
);
law(
  'with `veto: majority` more than half as many must reject as must agree',
  fc.property(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 7 }), (count, rejections) => {
    const all: Policies = [{ quorum: [{ of: { roles: ['finance'] }, count }], veto: 'majority' }];
    const votes = Array.from({ length: rejections }, (_, index) => ({
      ...{ by: `person ${index}`, roles: ['finance'], decision: { type: 'reject' } },
    }));
    const isRejected = rejections > count / 2;
    expect(verdict(all, { votes, requesters: [] }, { amount: 1 })).toBe(isRejected ? false : 'waiting');
  }),
);
law(
  'an approval that settles alone, settles; and no votes settle what is out of reach',
  fc.property(policies, requesters, input, fc.subarray(PEOPLE), (all, asked, given, some) => {
    const none = { votes: [], requesters: asked };
    const known = PEOPLE.map((by) => ({ by, roles: ROLES }));
    const missing = outOfReach(all, none, known, given);
    const votesOf = (people: readonly string[]) =>
      people.map((by) => ({ by, roles: ROLES, decision: { type: 'approve' }, signature: true }));
    if (missing.length > 0) expect(approves(all, { ...none, votes: votesOf(some) }, given)).toBe(false);
    else expect(approves(all, { ...none, votes: votesOf(PEOPLE) }, given)).toBe(true);
    for (const voter of known) if (settlesAlone(all, none, given, [voter])) expect(missing).toEqual([]);
  }),
  RUNS,
);
law(
  'an edit voids the votes before it',
  fc.property(policies, ballot, plainVotes, input, (all, { votes, requesters: asked }, after, given) => {
    const edit = { by: 'eve', roles: ROLES, decision: { type: 'approve', edit: given } };
    const edited = votes.filter(isEdit);
    expect(tally(all, { votes: [...votes, edit, ...after], requesters: asked }, given)).toEqual(
      // Who edited before still counts under four eyes.
      tally(all, { votes: [...edited, edit, ...after], requesters: asked }, given),
    );
  }),
  RUNS,
);
