import { Validator } from '@cfworker/json-schema';
import { describe, expect, test } from 'vitest';
import { checkablePart, dataSchemaProblem, describedSchema, fitsLimited, limitedSchema } from './data-schema.ts';
import { asSchema, type Validation } from './schema.ts';

const described = (schema: object, value: unknown): boolean =>
  (asSchema(describedSchema(schema as never, 'it'), 'it').validate(value) as Validation).ok;

const VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 3, 10, '', 'a', 'abc', '😀😀', '2026-11-18', 'ann@example.com', 'https://example.com/a'],
  ...[
    [],
    [1],
    [1, 2, 3],
    ['a', 1],
    [[1], [2]],
    {},
    { a: 1 },
    { a: 'x', b: 2 },
    { a: { b: [1, { c: null }] } },
    { b: 1, c: 2 },
  ],
];

const SCHEMAS: readonly object[] = [
  ...[{ type: 'integer' }, { type: ['string', 'null'] }, { enum: [0, 'a', [1], { a: 1 }] }, { const: { a: 1 } }, {}],
  ...[{ minimum: 1, maximum: 3 }, { exclusiveMinimum: 0, exclusiveMaximum: 10 }, { multipleOf: 0.5 }],
  ...[{ minLength: 2 }, { maxLength: 2 }, { format: 'date' }, { format: 'email' }, { format: 'made-up' }],
  ...[{ items: { type: 'number' } }, { prefixItems: [{ const: 1 }], items: false }, { minItems: 1, maxItems: 2 }],
  ...[
    { contains: { type: 'number' }, maxContains: 2 },
    { contains: { const: 1 }, minContains: 0 },
  ],
  ...[{ properties: { a: { type: 'number' } }, additionalProperties: false }, { required: ['a', 'b'] }],
  ...[{ minProperties: 1, maxProperties: 1 }, { propertyNames: { maxLength: 0 } }, { dependentRequired: { a: ['b'] } }],
  ...[{ dependentSchemas: { b: { required: ['c'] } } }, { additionalProperties: { type: 'number' } }],
  ...[{ anyOf: [{ type: 'string' }, { minimum: 2 }] }, { oneOf: [{ type: 'number' }, { minimum: 2 }] }],
  ...[{ allOf: [{ type: 'number' }, { minimum: 2 }] }, { not: { type: 'object' } }],
  JSON.parse('{ "if": { "type": "number" }, "then": { "minimum": 1 }, "else": { "type": "string" } }'),
  { properties: { a: { properties: { b: { items: { anyOf: [{ type: 'number' }, { required: ['c'] }] } } } } } },
];

describe('a schema that is data', () => {
  test.each(SCHEMAS)('%j accepts what the validator for schemas from code accepts', (schema) => {
    const other = new Validator(schema, '2020-12', false);
    expect(dataSchemaProblem(schema)).toBeUndefined();
    for (const value of VALUES)
      expect([value, fitsLimited(schema as never, value)]).toEqual([value, other.validate(value).valid]);
  });

  test('says what does not fit, and where', () => {
    const schema = {
      type: 'object',
      properties: { lines: { items: { properties: { amount: { type: 'number' } } } } },
      required: ['to'],
    };
    const read = asSchema(limitedSchema(schema) ?? {}, 'it').validate({ lines: [{ amount: 1 }, { amount: 'x' }] });
    expect(read).toMatchObject({
      problems: [
        'lines.1.amount: Instance type "string" is invalid. Expected "number"',
        'Instance does not have required property "to"',
      ],
    });
  });

  test.each([
    { $ref: '#' },
    { properties: { a: { $dynamicRef: '#x' } } },
    { items: { pattern: '(a+)+$' } },
    { anyOf: [{ patternProperties: { a: {} } }] },
    { uniqueItems: true },
    { unevaluatedProperties: false },
    { format: 'regex' },
    { properties: [] },
    { type: 'text' },
    { enum: Array.from({ length: 10_000 }, (_, index) => `value ${index}`) },
    JSON.parse(`${'{"not":'.repeat(70)}{}${'}'.repeat(70)}`),
    'no schema',
  ])('%.60j cannot limit what runs', (schema) => {
    expect(dataSchemaProblem(schema)).toEqual(expect.any(String));
  });

  test('a property that is called pattern is no pattern', () => {
    expect(
      dataSchemaProblem({ properties: { pattern: {}, $ref: {} }, default: { $ref: 'x' }, enum: [{ $ref: 'x' }] }),
    ).toBeUndefined();
  });

  test.each<readonly [string, object, unknown]>([
    ['alternatives', { items: { anyOf: many(1_500, (index) => ({ const: index })) } }, many(5_000, () => 1_499)],
    ['listed values', { items: { enum: many(8_000, (index) => index) } }, many(5_000, () => 7_999)],
    ['schemas inside schemas', nested(6), many(3_000, () => 1)],
    ['many items', { items: { type: 'number', minimum: 0 } }, many(200_000, () => 1)],
  ])('a value that takes too many steps does not fit: %s', (_what, schema, value) => {
    const before = process.cpuUsage();
    const read = asSchema(describedSchema(schema as never, 'it'), 'it').validate(value) as Validation;
    const { user } = process.cpuUsage(before);
    expect(read).toMatchObject({ ok: false, problems: [expect.stringContaining('steps')] });
    // It takes seconds or all memory without the limit.
    expect(user).toBeLessThan(1_000_000);
  });
});

describe('a schema that describes a tool', () => {
  test('what cannot be checked is not checked, and never refuses a value that the schema accepts', () => {
    const slug = { type: 'string', pattern: '^[a-z]+$' };
    expect(described({ properties: { to: slug } }, { to: 'a' })).toBe(true);
    expect(described({ properties: { to: slug } }, { to: 5 })).toBe(false);
    expect(described({ not: slug }, 'B')).toBe(true);
    expect(described({ oneOf: [slug, { type: 'string', minLength: 3 }], anyOf: [{ maxLength: 4 }] }, 'ABC')).toBe(true);
    expect(described({ oneOf: [slug, { type: 'string', minLength: 3 }], anyOf: [{ maxLength: 4 }] }, 'ABCDE')).toBe(
      false,
    );
    expect(described({ if: slug, ['then' as string]: false }, 'ABC')).toBe(true);
    expect(described({ contains: slug, maxContains: 1 }, ['a', 'B'])).toBe(true);
    expect(described({ patternProperties: { '^x-': {} }, additionalProperties: false }, { 'x-a': 1 })).toBe(true);
    expect(described({ properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] }, {})).toBe(false);
  });

  test('a required field with a default is optional', () => {
    const schema = {
      type: 'object',
      properties: { url: { type: 'string' }, wait: { type: 'number', default: 5 } },
      required: ['url', 'wait'],
    };
    expect(described(schema, { url: 'x' })).toBe(true);
    expect(described(schema, { wait: 1 })).toBe(false);
    expect(described(schema, { url: 'x', wait: 'long' })).toBe(false);
    expect(fitsLimited(schema as never, { url: 'x' })).toBe(false);
  });

  test('its checkable part keeps titles, and can be checked', () => {
    const part = checkablePart({ properties: { to: { title: 'To', pattern: 'a', maxLength: 5 } }, required: ['to'] });
    expect(part).toEqual({ properties: { to: { title: 'To', maxLength: 5 } }, required: ['to'] });
    expect(dataSchemaProblem(part)).toBeUndefined();
    expect(checkablePart({ enum: many(50_000, String) })).toEqual({});
  });
});

function many<T>(length: number, item: (index: number) => T): readonly T[] {
  return Array.from({ length }, (_, index) => item(index));
}

/** Each level doubles the work. */
function nested(depth: number): object {
  const inner = depth === 0 ? { items: { type: 'number' } } : nested(depth - 1);
  return { allOf: [inner, inner] };
}
