// The laws of conditions: what is not known never passes.
import fc from 'fast-check';
import { expect } from 'vitest';
import { commonConditions } from '../../src/core/authority/common-conditions.ts';
import { type Condition, fieldOf, meets } from '../../src/core/authority/condition.ts';
import { ruleSays } from '../../src/core/authority/rule.ts';
import type { Json } from '../../src/core/json.ts';
import { law } from './law.ts';

const value = fc.oneof(
  fc.constantFrom<Json>(null, true, '', '5', 0, 5, 5.5, 10),
  fc.integer({ min: -2, max: 12 }),
  fc.constantFrom<Json>([], [1], {}, { total: 3 }),
);
const field = fc.oneof(
  fc.constantFrom('amount', 'to', 'order', 'constructor', '__proto__'),
  fc.constantFrom(['order', 'total'], ['list', '0'], ['to', 'length'], []),
);
const limit = fc.integer({ min: -1, max: 11 });
const condition: fc.Arbitrary<Condition> = fc.record(
  {
    field,
    equals: value,
    oneOf: fc.array(value, { maxLength: 3 }),
    above: limit,
    atLeast: limit,
    below: limit,
    atMost: limit,
  },
  { requiredKeys: ['field'] },
);
const conditions = fc.array(condition, { maxLength: 3 });
const input: fc.Arbitrary<Json> = fc.oneof(
  fc.record(
    { amount: value, to: value, order: fc.record({ total: value }), list: fc.array(value, { maxLength: 2 }) },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Json>,
  value,
);

law(
  'a condition with a missing field, or a range of what is no number, is never met',
  fc.property(conditions, input, (all, given) => {
    if (meets(all, given) !== true) return;
    for (const { field: at, above, atLeast, below, atMost } of all) {
      const found = fieldOf(given, at);
      expect(found).toBeDefined();
      if ([above, atLeast, below, atMost].some((one) => one !== undefined)) expect(typeof found).toBe('number');
    }
  }),
  1_000,
);
law(
  'all of them must be met: one more never lets an input pass, and their order does not matter',
  fc.property(conditions, condition, input, (all, more, given) => {
    if (meets([...all, more], given) === true) expect(meets(all, given)).toBe(true);
    if (meets(all, given) === false) expect(meets([...all, more], given)).toBe(false);
    expect(meets([more, ...all], given)).toBe(meets([...all, more], given));
    expect(meets([...all, ...all], given)).toBe(meets(all, given));
  }),
  1_000,
);
law(
  'another limit in a condition is another condition',
  fc.property(condition, input, ({ field: at, ...limits }, given) => {
    const apart = Object.entries(limits).map(([name, bound]) => ({ field: at, [name]: bound }) as Condition);
    fc.pre(apart.length > 0);
    expect(meets([{ field: at, ...limits }], given)).toBe(meets(apart, given));
  }),
  1_000,
);
law(
  'a rule that may not be met does not allow, and still asks and denies',
  fc.property(conditions, input, (where, given) => {
    const call = { tool: 'pay', agent: null, input: given };
    const met = meets(where, given);
    expect(ruleSays({ where }, 'allow', call)).toBe(met === true ? 'allow' : undefined);
    for (const then of ['ask', 'deny'] as const)
      expect(ruleSays({ where }, then, call)).toBe(met === false ? undefined : then);
  }),
  1_000,
);
law(
  'what inputs have in common, each of them meets',
  fc.property(
    fc.array(fc.dictionary(fc.constantFrom('amount', 'to', 'order'), value, { noNullPrototype: true }), {
      minLength: 1,
      maxLength: 4,
    }),
    (inputs) => {
      const common = commonConditions(inputs);
      for (const one of inputs) expect(meets(common, one)).toBe(true);
    },
  ),
);
