import { describe, expect, test } from 'vitest';
import type { Json } from '../../json.ts';
import { policyProblem } from '../policy-problem.ts';
import {
  foldGrant,
  type Grant,
  type GrantEvent,
  type GrantedCall,
  grantLeft,
  grantStatus,
  maximumOf,
  mayUse,
  withoutUses,
} from './grant.ts';
import { grantProblem } from './grant-problem.ts';

const grant: Grant = {
  id: 'g1',
  tool: 'pay',
  where: [
    { field: 'to', equals: 'ACME' },
    { field: 'amount', atMost: 500 },
  ],
  serves: { people: ['ann'], agents: ['buyer'] },
  uses: 3,
  budget: { field: 'amount', total: 0.3 },
  expiresAt: 1_000,
  givenBy: 'ben',
  requestId: 'run:call',
  votes: [{ by: 'ben', roles: ['finance'], decision: { type: 'approve' } }],
};

const made = (changes: Partial<Grant> = {}): GrantEvent => ({ type: 'made', at: 1, grant: { ...grant, ...changes } });
const reserved = (key: string, amount?: number): GrantEvent => ({
  type: 'reserved',
  at: 2,
  key,
  ...(amount !== undefined && { amount }),
});
const call = (input: Json, changes: Partial<GrantedCall> = {}): GrantedCall => ({
  key: 'run:new',
  tool: 'pay',
  input,
  startedBy: 'ann',
  agent: 'buyer',
  fitsSchema: true,
  now: 10,
  ...changes,
});
const verdict = (events: readonly GrantEvent[], asked: GrantedCall) => mayUse(foldGrant(events), asked);
const fits = { to: 'ACME', amount: 0.1 };

describe('a grant covers', () => {
  test('a call that meets all of its conditions', () => {
    expect(verdict([made()], call(fits))).toEqual({ ok: true, amount: 0.1, isReserved: false });
  });

  test.each<readonly [string, GrantedCall]>([
    ['another tool', call(fits, { tool: 'refund' })],
    ['another agent', call(fits, { agent: 'other' })],
    ['another person', call(fits, { startedBy: 'eve' })],
    ['a run that names nobody', call(fits, { startedBy: null })],
    ['a missing field', call({ amount: 0.1 })],
    ['a field that is inherited', call(Object.create({ to: 'ACME', amount: 0.1 }))],
    ['another value', call({ to: 'Evil', amount: 0.1 })],
    ['a number as text', call({ to: 'ACME', amount: '0.1' })],
    ['a negative amount', call({ to: 'ACME', amount: -1 })],
    ['an amount that is not a number', call({ to: 'ACME', amount: Number.NaN })],
    ['an input that is null', call(null)],
    ['the moment of its expiry', call(fits, { now: 1_000 })],
  ])('not %s', (_what, asked) => {
    expect(verdict([made()], asked)).toMatchObject({ ok: false });
  });

  test('falsy values of conditions and amounts are values', () => {
    const where = [
      { field: 'urgent', equals: false },
      { field: 'note', equals: null },
      { field: 'name', equals: '' },
    ];
    const free = made({ where, budget: { field: 'amount', total: 0 } });
    const asked = call({ urgent: false, note: null, name: '', amount: 0 });
    expect(verdict([free], asked)).toEqual({ ok: true, amount: 0, isReserved: false });
    expect(verdict([free], call({ urgent: false, note: null, name: '', amount: 1 }))).toMatchObject({ isFull: true });
  });

  test('only inputs that fit its schema', () => {
    expect(verdict([made({ schema: { type: 'object' } })], call(fits, { fitsSchema: false }))).toMatchObject({
      ok: false,
    });
  });

  test('nothing after it was revoked, not even a call with a reservation', () => {
    const events = [made(), reserved('run:new', 0.1), { type: 'revoked', by: 'ben', at: 3 } as const];
    expect(verdict(events, call(fits))).toMatchObject({ ok: false, why: 'It was revoked.' });
    expect(grantStatus(foldGrant(events), 10)).toBe('revoked');
  });
});

describe('the uses and the budget of a grant', () => {
  test('0.1 + 0.2 fit into 0.3, and not a bit more', () => {
    const events = [made(), reserved('run:a', 0.2)];
    expect(verdict(events, call(fits))).toMatchObject({ ok: true });
    expect(verdict(events, call({ to: 'ACME', amount: 0.1000000001 }))).toMatchObject({ ok: false, isFull: true });
    expect(grantLeft(foldGrant(events))).toEqual({ uses: 2, amount: 0.1 });
  });

  test('large and small amounts are added without rounding', () => {
    const budget = { field: 'amount', total: 9_007_199_254_740_991 };
    const events = [made({ budget, where: [] }), reserved('run:a', 9_007_199_254_740_991)];
    expect(verdict(events, call({ amount: 1e-7 }))).toMatchObject({ isFull: true });
    expect(verdict(events, call({ amount: 1e300 }))).toMatchObject({ ok: false });
  });

  test('the same call finds its reservation and takes no second one', () => {
    const events = [made({ uses: 1 }), reserved('run:new', 0.1)];
    expect(verdict(events, call(fits))).toEqual({ ok: true, amount: 0.1, isReserved: true });
    expect(verdict(events, call(fits, { key: 'run:other' }))).toMatchObject({ ok: false, isFull: true });
  });

  test('a released use can be taken again, a spent one cannot', () => {
    const events: GrantEvent[] = [made({ uses: 1 }), reserved('run:a', 0.1)];
    expect(verdict(withoutUses(events, new Set(['run:a'])), call(fits))).toMatchObject({ ok: true });
    expect(verdict([...events, { type: 'spent', keys: ['run:a'], at: 3 }], call(fits))).toMatchObject({ isFull: true });
    expect(grantStatus(foldGrant(events), 10)).toBe('used-up');
  });
});

describe('a grant stands for the votes behind it', () => {
  test('it does not cover a run of its giver where four eyes are needed', () => {
    const given = made({ serves: {} });
    const policies = [{ notRequester: true }] as const;
    expect(verdict([given], call(fits, { policies }))).toMatchObject({ ok: true });
    expect(verdict([given], call(fits, { policies, startedBy: 'ben' }))).toMatchObject({ ok: false });
  });

  test('it does not cover a call that needs other people', () => {
    const grants = { uses: 5, expiresWithin: 1_000 };
    const cfo = { of: { roles: ['cfo'] }, count: 1, when: [{ field: 'amount', above: 0.2 }] };
    const policies = [{ quorum: [{ of: { roles: ['finance'] }, count: 1 }, cfo], grants }] as const;
    expect(verdict([made()], call(fits, { policies }))).toMatchObject({ ok: true });
    expect(verdict([made()], call({ to: 'ACME', amount: 0.25 }, { policies }))).toMatchObject({ ok: false });
    expect(verdict([made()], call(fits, { policies: [{ deciders: { people: ['cleo'] } }] }))).toMatchObject({
      ok: false,
    });
  });

  test('it covers only calls that it settles under each of their policies', () => {
    const finance = { deciders: { roles: ['finance'] } };
    const cleo = { deciders: { people: ['cleo'] } };
    expect(verdict([made()], call(fits, { policies: [finance, {}] }))).toMatchObject({ ok: true });
    expect(verdict([made()], call(fits, { policies: [finance, cleo] }))).toMatchObject({ ok: false });
    expect(verdict([made()], call(fits, { policies: [finance, { grants: false }] }))).toMatchObject({ ok: false });
  });

  test('it does not cover a call to which its giver wrote the message, where four eyes are needed', () => {
    const requesters = ['ann', 'ben'];
    expect(verdict([made()], call(fits, { policies: [{ notRequester: true }], requesters }))).toMatchObject({
      ok: false,
    });
    expect(verdict([made()], call(fits, { requesters }))).toMatchObject({ ok: true });
  });

  test('signed decisions and quorums allow no grants by default', () => {
    const quorum = [{ of: { roles: ['finance'] }, count: 2 }];
    const grants = { uses: 5, expiresWithin: 1_000 };
    expect(maximumOf({ signed: 'passkey', grants })).toBe(false);
    expect(maximumOf({ quorum })).toBe(false);
    expect(maximumOf({ quorum, grants })).toBe(grants);
    expect(maximumOf({})).toMatchObject({ uses: 1_000 });
  });
});

describe('a request for a grant', () => {
  const request = { uses: 2, expiresAt: 100 };
  const maximum = { uses: 5, field: 'amount', each: 500, total: 2_000, expiresWithin: 1_000 };
  const limited = {
    ...request,
    where: [{ field: 'amount', atMost: 500 }],
    budget: { field: ['amount'], total: 2_000 },
  };

  test('within the maximum has no problem', () => {
    expect(grantProblem(limited, [maximum], 10)).toBeUndefined();
    expect(grantProblem(request, [maximumOf({})], 10)).toBeUndefined();
  });

  test.each<readonly [string, unknown]>([
    ['more uses', { ...limited, uses: 6 }],
    ['no uses', { ...limited, uses: 0 }],
    ['half a use', { ...limited, uses: 1.5 }],
    ['a later expiry', { ...limited, expiresAt: 1_011 }],
    ['an expiry that has passed', { ...limited, expiresAt: 10 }],
    ['a higher amount', { ...limited, where: [{ field: 'amount', atMost: 501 }] }],
    ['no limit for the amount', { ...limited, where: [] }],
    ['a limit for another field', { ...limited, where: [{ field: 'amounts', atMost: 1 }] }],
    ['a larger budget', { ...limited, budget: { field: 'amount', total: 2_001 } }],
    ['a budget over another field', { ...limited, budget: { field: 'count', total: 1 } }],
    ['no budget', { ...limited, budget: undefined }],
    ['a negative budget', { ...limited, budget: { field: 'amount', total: -1 } }],
    ['a budget that is not finite', { ...limited, budget: { field: 'amount', total: Number.POSITIVE_INFINITY } }],
    ['an unknown field', { ...limited, tool: 'other' }],
    ['an unknown condition', { ...limited, where: [{ field: 'amount', lessThan: 5 }] }],
    ['people that are no list', { ...limited, serves: { people: 'ann' } }],
    ['nobody to serve', { ...limited, serves: { people: [] } }],
  ])('with %s is refused', (_what, wide) => {
    expect(grantProblem(wide, [maximum], 10)).toEqual(expect.any(String));
  });

  test('is refused where the policy allows none', () => {
    expect(grantProblem(limited, [maximum, false], 10)).toMatch('allows no grants');
  });

  test('must fit the narrowest of several maxima', () => {
    const narrower = { uses: 1, expiresWithin: 1_000 };
    expect(grantProblem(limited, [maximum, narrower], 10)).toMatch('at most 1 uses');
    expect(grantProblem({ ...limited, uses: 1 }, [maximum, narrower], 10)).toBeUndefined();
  });

  test('a policy with a maximum that cannot be meant is refused', () => {
    expect(policyProblem({ grants: { uses: 5, each: 5, expiresWithin: 1 } })).toMatch('need `field`');
    expect(policyProblem({ grants: { uses: 1_001, expiresWithin: 1 } })).toMatch('`grants.uses`');
    expect(policyProblem({ grants: false })).toBeUndefined();
  });
});
