// The laws of authority, with random rules, policies, people, votes and grants.
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { whyNotCovered } from '../../src/core/authority/grants/grant.ts';
import { mayDecide } from '../../src/core/authority/may-decide.ts';
import { type CallAsked, type CallRule, mayRun } from '../../src/core/authority/may-run.ts';
import { deadlineMayApprove, namesDeciders, type Policies, type Vote } from '../../src/core/authority/policy.ts';
import { isFor } from '../../src/core/authority/tally.ts';
import { law } from '../laws/law.ts';
import { approves, ballot, condition, input, policies, policy, vote } from '../laws/random-authority.ts';

const rule: fc.Arbitrary<CallRule> = fc.record(
  {
    tool: fc.constantFrom('pay', 'p*', '*', 'send'),
    label: fc.constantFrom('money', 'eu'),
    risk: fc.constantFrom('low' as const, 'high' as const),
    where: fc.array(condition, { minLength: 1, maxLength: 1 }),
    then: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const, 'observe' as const),
    policy,
  },
  { requiredKeys: [] },
);
const call: fc.Arbitrary<CallAsked> = fc.record(
  {
    tool: fc.constant('pay'),
    agent: fc.constant('clerk'),
    input,
    labels: fc.subarray(['money', 'eu']),
    risk: fc.constantFrom('low' as const, 'high' as const),
    isDescribed: fc.boolean(),
    own: fc.constantFrom('allow' as const, 'ask' as const, 'undecided' as const),
    policies: fc.tuple(policy),
    added: policy,
  },
  { requiredKeys: ['tool', 'agent', 'input', 'own'] },
) as fc.Arbitrary<CallAsked>;

describe('1. a source adds, and never takes away', () => {
  law(
    'a rule never lets a call run that asked, unless it allows a call about which its tool says nothing',
    fc.property(call, fc.array(rule, { maxLength: 4 }), rule, (asked, rules, more) => {
      fc.pre(asked.own !== 'undecided' || more.then !== 'allow');
      const strict = { run: 0, ask: 1, deny: 2 };
      expect(strict[mayRun(asked, [...rules, more]).then]).toBeGreaterThanOrEqual(strict[mayRun(asked, rules).then]);
    }),
  );
  law(
    'a rule that observes changes nothing but what is observed',
    fc.property(call, fc.array(rule, { maxLength: 4 }), rule, (asked, rules, more) => {
      const before = mayRun(asked, rules);
      const { observed, ...after } = {
        observed: undefined,
        ...mayRun(asked, [...rules, { ...more, then: 'observe' }]),
      };
      const { observed: _, ...unobserved } = { observed: undefined, ...before };
      expect(after).toEqual(unobserved);
      if (before.then === 'run' && before.observed) expect(observed).toBeDefined();
    }),
  );
  law(
    'a policy never settles an approval that was not settled without it',
    fc.property(policies, policy, ballot, input, (all, more, votes, given) => {
      if (approves([...all, more], votes, given)) expect(approves(all, votes, given)).toBe(true);
    }),
  );
  law(
    'a policy that names nobody admits nobody; one that names people lets them approve nothing but itself',
    fc.property(policies, policy, ballot, vote, input, (all, more, votes, given, amount) => {
      const alone = { ...votes, votes: [given] };
      if (mayDecide(all, { ...votes, votes: [] }, given).ok) return;
      if (!namesDeciders(more)) expect(mayDecide([...all, more], { ...votes, votes: [] }, given).ok).toBe(false);
      expect(approves([...all, more], alone, amount)).toBe(false);
    }),
  );
  law(
    'every policy of every source that asks is on the request',
    fc.property(call, fc.array(rule, { maxLength: 4 }), (asked, rules) => {
      const found = mayRun(asked, rules);
      if (found.then !== 'ask') return;
      const texts = found.policies.map((one) => JSON.stringify(one));
      const own = asked.own === 'ask' ? (asked.policies ?? []).filter((one) => Object.keys(one).length > 0) : [];
      for (const one of own) expect(texts).toContain(JSON.stringify(one));
      expect(found.policies.length).toBeGreaterThan(0);
    }),
  );
});

law(
  '2. a call runs unasked only if nothing asks, and its tool or a rule allows it',
  fc.property(call, fc.array(rule, { maxLength: 4 }), (asked, rules) => {
    if (mayRun(asked, rules).then !== 'run') return;
    expect(asked.own).not.toBe('ask');
    for (const one of rules)
      expect(mayRun({ ...asked, own: 'allow' }, [{ ...one, then: one.then ?? 'ask' }]).then).toBe('run');
    if (asked.own === 'undecided') expect(rules.some(({ then }) => then === 'allow')).toBe(true);
  }),
);

describe('3. whoever cannot approve cannot cause the call to run', () => {
  const grantOf = (votes: readonly Vote[]) => ({ tool: 'pay', where: [], serves: {}, votes });
  law(
    'not by a grant',
    fc.property(policies, ballot, vote, input, (all, { requesters }, given, amount) => {
      const own = { ...given, decision: { type: 'approve' } };
      if (mayDecide(all, { votes: [], requesters }, own).ok) return;
      const asked = { tool: 'pay', input: amount, startedBy: null, agent: 'clerk', policies: all, requesters };
      expect(whyNotCovered(grantOf([own]), { ...asked, fitsSchema: true })).toBeDefined();
    }),
  );
  law(
    'a grant covers a call exactly if its decisions would settle it',
    fc.property(policies, ballot, input, (all, votes, amount) => {
      const fors = votes.votes
        .filter(isFor)
        .map(({ by, roles }) => ({ by, ...(roles && { roles }), decision: { type: 'approve' } }));
      const asked = { tool: 'pay', input: amount, startedBy: null, agent: 'clerk', policies: all, fitsSchema: true };
      const why = whyNotCovered(grantOf(fors), { ...asked, requesters: votes.requesters });
      if (why === undefined) expect(approves(all, { votes: fors, requesters: votes.requesters }, amount)).toBe(true);
    }),
  );
  law(
    'not by an edit of their own under four eyes',
    fc.property(policies, ballot, vote, input, (all, { requesters }, given, amount) => {
      const strict = all.map((one) => ({ ...one, notRequester: true as const })) as unknown as Policies;
      const edit = { ...given, decision: { type: 'approve', edit: amount } };
      expect(approves(strict, { requesters, votes: [edit] }, amount)).toBe(false);
    }),
  );
  law(
    'not by waiting: a deadline approves only where every policy says so, with no quorum and no signature',
    fc.property(policies, (all) => {
      if (!deadlineMayApprove(all)) return;
      for (const { onExpiry, quorum = [], signed } of all)
        expect([onExpiry, quorum, signed]).toEqual(['approve', [], undefined]);
    }),
  );
});

law(
  '4. nothing that a caller says of its call weakens a rule',
  fc.property(call, fc.array(rule, { maxLength: 4 }), call, (asked, rules, said) => {
    const { labels, risk } = said;
    const described: CallAsked = { ...asked, isDescribed: true, ...(labels && { labels }), ...(risk && { risk }) };
    const operators = { ...asked, isDescribed: false, labels: ['money', 'eu'], risk: asked.risk };
    const strict = { run: 0, ask: 1, deny: 1 };
    if (mayRun(operators, rules).then !== 'run') expect(strict[mayRun(described, rules).then]).toBe(1);
  }),
);
