// The laws of grants: no order of events lets more run than the grant allows.
import fc from 'fast-check';
import { expect } from 'vitest';
import {
  foldGrant,
  type Grant,
  type GrantEvent,
  grantLeft,
  grantStatus,
  mayUse,
  withoutUses,
} from '../../src/core/authority/grants/grant.ts';
import { grantProblem } from '../../src/core/authority/grants/grant-problem.ts';
import { compareDecimals, sumOf } from '../../src/core/decimal.ts';
import { law } from './law.ts';

const amount = fc.oneof(fc.constantFrom(0, 0.1, 0.2, 0.3, 1, 2.5), fc.double({ min: 0, max: 3, noNaN: true }));
const grant = fc
  .record({ uses: fc.integer({ min: 1, max: 4 }), total: fc.oneof(fc.constantFrom(0.3, 0.6, 1, 3), amount) })
  .map(
    ({ uses, total }): Grant => ({
      ...{ id: 'g', tool: 'pay', givenBy: 'bea', requestId: 'r', where: [], serves: {}, uses, expiresAt: 1_000 },
      budget: { field: 'amount', total },
      votes: [{ by: 'bea', decision: { type: 'approve' } }],
    }),
  );
const act = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('use' as const), key: fc.nat(6), amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('spend' as const), key: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), key: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(300) }) },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

const callOf = (key: string, value: number, now: number) => ({
  ...{ key, tool: 'pay', input: { amount: value }, startedBy: 'ann', agent: 'clerk', fitsSchema: true, now },
});

/** The record after these acts, each as `runs/grants` does it: a use is reserved only where the grant lets the call run. */
function recordOf(given: Grant, acts: readonly Act[]) {
  let events: readonly GrantEvent[] = [{ type: 'made', at: 0, grant: given }];
  let now = 0;
  for (const one of acts) {
    const state = foldGrant(events);
    const key = 'key' in one ? `k${one.key}` : '';
    const isReserved = state.uses.get(key)?.status === 'reserved';
    if (one.do === 'wait') now += one.ms;
    else if (one.do === 'revoke') events = [...events, { type: 'revoked', at: now, by: null }];
    else if (one.do === 'spend' && isReserved) events = [...events, { type: 'spent', at: now, keys: [key] }];
    else if (one.do === 'release' && isReserved) events = withoutUses(events, new Set([key]));
    else if (one.do === 'use' && state.uses.get(key)?.status !== 'spent') {
      const verdict = mayUse(state, callOf(key, one.amount, now));
      if (verdict.ok && (state.revoked || now >= given.expiresAt)) throw new Error('It is over, and lets a call run.');
      if (verdict.ok && !verdict.isReserved)
        events = [...events, { type: 'reserved', at: now, key, amount: one.amount }];
    }
  }
  return { events, now };
}

law(
  'no order of uses, releases and spent calls takes more uses or more money than the grant has',
  fc.property(grant, fc.array(act, { maxLength: 30, size: 'max' }), (given, acts) => {
    const { events, now } = recordOf(given, acts);
    const state = foldGrant(events);
    const amounts = [...state.uses.values()].map((use) => use.amount ?? 0);
    expect(amounts.length).toBeLessThanOrEqual(given.uses);
    const total = given.budget?.total ?? 0;
    expect(compareDecimals(sumOf(amounts), total)).toBeLessThanOrEqual(0);
    const left = grantLeft(state);
    expect(left.uses).toBe(given.uses - amounts.length);
    // What is left and what is taken is the budget, exactly, if what is left can be written as one number.
    const rest = sumOf([total, ...amounts.map((one) => `-${sumOf([one])}`)]);
    expect(left.amount).toBe(Number(rest));
    if (grantStatus(state, now) !== 'active') {
      const verdict = mayUse(state, callOf('new', given.budget?.total ?? 0, now));
      expect(verdict.ok && (left.uses === 0 || total > 0)).toBe(false);
    }
  }),
);
law(
  'each start of the record is a record, and the order of uses does not matter',
  fc.property(grant, fc.array(act, { maxLength: 20, size: 'max' }), (given, acts) => {
    const { events } = recordOf(given, acts);
    for (let count = 1; count <= events.length; count++) foldGrant(events.slice(0, count));
    const [made, ...rest] = events as [GrantEvent, ...GrantEvent[]];
    const uses = rest.filter(({ type }) => type === 'reserved');
    const others = rest.filter(({ type }) => type !== 'reserved');
    const keys = uses.map((event) => (event.type === 'reserved' ? event.key : ''));
    if (new Set(keys).size < keys.length) return;
    expect(grantLeft(foldGrant([made, ...uses.toReversed(), ...others]))).toEqual(grantLeft(foldGrant(events)));
  }),
);
law(
  'a grant that a maximum allows is within it',
  fc.property(
    fc.record({
      uses: fc.integer({ min: 1, max: 6 }),
      field: fc.constant('amount'),
      each: fc.integer({ min: 0, max: 5 }),
      total: fc.integer({ min: 0, max: 5 }),
      expiresWithin: fc.integer({ min: 1, max: 1_000 }),
    }),
    fc.record(
      {
        uses: fc.integer({ min: 1, max: 6 }),
        expiresAt: fc.integer({ min: 1, max: 1_000 }),
        where: fc.array(
          fc.record(
            { field: fc.constantFrom('amount', 'to'), atMost: fc.nat(6), below: fc.nat(6), equals: fc.nat(6) },
            { requiredKeys: ['field'] },
          ),
          { maxLength: 2 },
        ),
        budget: fc.record({ field: fc.constantFrom('amount', 'to'), total: fc.nat(6) }),
      },
      { requiredKeys: ['uses', 'expiresAt'] },
    ),
    fc.integer({ min: 0, max: 7 }),
    (maximum, asked, value) => {
      if (grantProblem(asked, [maximum], 0) !== undefined) return;
      expect(asked.uses).toBeLessThanOrEqual(maximum.uses);
      expect(asked.expiresAt).toBeLessThanOrEqual(maximum.expiresWithin);
      expect(asked.budget?.total).toBeLessThanOrEqual(maximum.total);
      const given: Grant = {
        ...{ id: 'g', tool: 'pay', givenBy: 'bea', requestId: 'r', where: [], serves: {} },
        ...asked,
        votes: [{ by: 'bea', decision: { type: 'approve' } }],
      };
      const state = foldGrant([{ type: 'made', at: 0, grant: given }]);
      if (mayUse(state, { ...callOf('k', value, 0), input: { amount: value, to: value } }).ok)
        expect(value).toBeLessThanOrEqual(Math.min(maximum.each, maximum.total));
    },
  ),
);
