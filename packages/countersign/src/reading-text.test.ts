// Labels, money and dates of a value, by its schema.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Line, lineOf } from './core/request/line.ts';
import { money } from './core/request/money.ts';
import { readingText } from './reading-text.ts';

const shown = (line: Line): unknown =>
  line.inside().length > 0
    ? line.inside().map((inner) => [inner.label, shown(inner)])
    : ((line.reading &&
        readingText(line.reading, { locale: 'en', timeZone: 'UTC' })?.replaceAll(/[\u00a0\u202f]/g, ' ')) ??
      line.value);

type JsonSchema = { readonly [key: string]: unknown };

/** Label and text of each line. */
const linesOf = (value: unknown, schema: z.ZodType | JsonSchema | null): unknown =>
  shown(
    lineOf(
      value as never,
      schema instanceof z.ZodType ? (z.toJSONSchema(schema, { io: 'input' }) as JsonSchema) : schema,
    ),
  );

const text = (value: unknown, schema: z.ZodType): unknown => linesOf({ at: value }, z.object({ at: schema }));
const EUR = money({ currency: 'EUR' });

describe('labels', () => {
  test.each<[string, unknown, JsonSchema, unknown]>([
    ['a title', { to: 1 }, { properties: { to: { title: 'Payee' } } }, [['Payee', 1]]],
    ['a short description', { to: 1 }, { properties: { to: { description: 'Who is paid.' } } }, [['Who is paid', 1]]],
    ['the name beside a long one', { to: 1 }, { properties: { to: { description: 'x '.repeat(30) } } }, [['to', 1]]],
    [
      'the name of what no schema has',
      { to: 1, more: 2 },
      { properties: { to: { title: 'Payee' } } },
      [
        ['Payee', 1],
        ['more', 2],
      ],
    ],
    [
      'names of titles that are alike',
      { a: 1, b: 2 },
      { properties: { a: { title: 'T' }, b: { title: 'T' } } },
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    [
      'the name of a title that another field has as its name',
      { a: 1, T: 2 },
      { properties: { a: { title: 'T' } } },
      [
        ['a', 1],
        ['T', 2],
      ],
    ],
    ['the name of a title with two spaces', { a: 1 }, { properties: { a: { title: 'T  5' } } }, [['a', 1]]],
    [
      'the name of a title with a colon or a break',
      { a: 1, b: 2 },
      { properties: { a: { title: 'T: 5' }, b: { title: 'T\nU' } } },
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    [
      'a field inside',
      { a: { b: 1 } },
      { properties: { a: { title: 'A', properties: { b: { title: 'B' } } } } },
      [['A', [['B', 1]]]],
    ],
    ['entries of a list', [{ a: 1 }], { items: { properties: { a: { title: 'A' } } } }, [['1.', [['A', 1]]]]],
    [
      'a reference',
      { a: { b: 1 } },
      { $defs: { x: { properties: { b: { title: 'B' } } } }, properties: { a: { $ref: '#/$defs/x' } } },
      [['a', [['B', 1]]]],
    ],
    ['a reference to itself', { a: { a: 1 } }, { properties: { a: { $ref: '#', title: 'A' } } }, [['A', [['A', 1]]]]],
    ['an endless reference', { a: 1 }, { properties: { a: { $ref: '#/properties/a' } } }, [['a', 1]]],
    ['no entry for a field that is absent', {}, { properties: { a: { title: 'A' } } }, {}],
    [
      'names of Object.prototype',
      { toString: 1, constructor: 2 },
      {},
      [
        ['toString', 1],
        ['constructor', 2],
      ],
    ],
  ])('%s', (_, value, schema, expected) => expect(linesOf(value, schema)).toEqual(expected));

  test('a field that may be null keeps its title', () => {
    const schema = z.object({ a: z.number().meta({ title: 'A' }).nullable() });
    expect(linesOf({ a: null }, schema)).toEqual([['A', null]]);
    expect(linesOf({ a: 1 }, schema)).toEqual([['A', 1]]);
  });

  test('a union is read by the branch of the value', () => {
    const card = z.object({ by: z.literal('card'), sum: z.number().meta({ title: 'Charge', ...EUR }) });
    const bank = z.object({ by: z.literal('bank'), sum: z.number().meta({ title: 'Transfer' }) });
    const schema = z.object({ pay: z.discriminatedUnion('by', [card, bank]) });
    expect(linesOf({ pay: { by: 'card', sum: 5 } }, schema)).toEqual([
      [
        'pay',
        [
          ['by', 'card'],
          ['Charge', '€5.00'],
        ],
      ],
    ]);
    expect(linesOf({ pay: { by: 'bank', sum: 5 } }, schema)).toEqual([
      [
        'pay',
        [
          ['by', 'bank'],
          ['Transfer', 5],
        ],
      ],
    ]);
  });

  test('without a schema, names and values stay as they are', () => {
    expect(linesOf({ a: 1, b: ['x'] }, null)).toEqual([
      ['a', 1],
      ['b', [['1.', 'x']]],
    ]);
  });
});

describe('money', () => {
  test.each<[unknown, z.ZodType, unknown]>([
    [950, z.number().meta(EUR), '€950.00'],
    [950.5, z.number().meta(EUR).min(1).optional(), '€950.50'],
    [-3, z.number().meta(EUR), '-€3.00'],
    [0.125, z.number().meta(EUR), '€0.125'],
    [1_250_000, z.number().meta(money({ currency: 'JPY' })), '¥1,250,000'],
    ['12345678901234567890.12', z.string().meta(EUR), '€12,345,678,901,234,567,890.12'],
    [9_007_199_254_740_991, z.number().meta(EUR), '€9,007,199,254,740,991.00'],
    [95_000, z.int().meta(money({ currency: 'EUR', scale: 2 })), '€950.00'],
    [5, z.int().meta(money({ currency: 'EUR', scale: 2 })), '€0.05'],
    [-5, z.int().meta(money({ currency: 'KWD', scale: 3 })), '-KWD 0.005'],
    // What would not be exact reads as it is.
    [1e21, z.number().meta(EUR), 1e21],
    ['0950', z.string().meta(EUR), '0950'],
    ['9,50', z.string().meta(EUR), '9,50'],
    ['lots', z.string().meta(EUR), 'lots'],
    [9.5, z.number().meta(money({ currency: 'EUR', scale: 2 })), 9.5],
    [null, z.number().meta(EUR).nullable(), null],
  ])('%s reads as %s', (value, schema, expected) =>
    expect(String((text(value, schema) as string[][])[0]?.[1]).replaceAll('\u00a0', ' ')).toBe(String(expected)),
  );

  const Payment = z.object({
    to: z.string(),
    amount: z.number().meta(money({ currencyField: 'currency' })),
    fee: z
      .number()
      .meta(money({ currencyField: 'currency' }))
      .optional(),
    currency: z.string(),
  });

  test('the currency of another field reads with the amount, once', () => {
    expect(linesOf({ to: 'ACME', amount: 950, fee: 1, currency: 'CHF' }, Payment)).toEqual([
      ['to', 'ACME'],
      ['amount', 'CHF 950.00'],
      ['fee', 'CHF 1.00'],
    ]);
  });

  test.each(['eur', 'euros', '', 5, null])('a currency that is %j keeps its own line', (currency) => {
    expect(linesOf({ amount: 950, currency }, Payment)).toEqual([
      ['amount', 950],
      ['currency', currency],
    ]);
  });

  test('a currency keeps its line if an amount does not read as money', () => {
    expect(linesOf({ amount: 'x', currency: 'EUR' }, Payment)).toEqual([
      ['amount', 'x'],
      ['currency', 'EUR'],
    ]);
    expect(linesOf({ amount: 1, fee: 'x', currency: 'EUR' }, Payment)).toEqual([
      ['amount', '€1.00'],
      ['fee', 'x'],
      ['currency', 'EUR'],
    ]);
  });

  test('a currency whose amount is absent keeps its line', () => {
    expect(linesOf({ to: 'ACME', currency: 'EUR' }, Payment)).toEqual([
      ['to', 'ACME'],
      ['currency', 'EUR'],
    ]);
  });

  test('amounts in a list read with the currency of their own entry', () => {
    const schema = z.object({ items: z.array(Payment.omit({ to: true })) });
    expect(
      linesOf(
        {
          items: [
            { amount: 1, currency: 'USD' },
            { amount: 2, currency: 'EUR' },
          ],
        },
        schema,
      ),
    ).toEqual([
      [
        'items',
        [
          ['1.', [['amount', '$1.00']]],
          ['2.', [['amount', '€2.00']]],
        ],
      ],
    ]);
  });

  test('money() takes a currency or the field that has it', () => {
    expect(() => money({})).toThrow('Pass either `currency` or `currencyField`');
    expect(() => money({ currency: 'EUR', currencyField: 'c' })).toThrow('Pass either');
    expect(() => money({ currency: 'euro' })).toThrow('must be a currency as in ISO 4217, such as EUR, not "euro"');
    expect(() => money({ currency: 'EUR', scale: 0.5 })).toThrow('must be a whole number from 0 to 9');
  });

  test('people read amounts in their own language', () => {
    const [line] = lineOf({ a: 1234.5 }, { properties: { a: EUR } }).inside();
    expect(readingText(line?.reading as never, { locale: 'de' })?.replaceAll('\u00a0', ' ')).toBe('1.234,50 €');
  });
});

describe('dates', () => {
  test.each<[unknown, object, unknown]>([
    ['2026-11-18', { format: 'date' }, 'Wed, Nov 18, 2026'],
    ['2026-02-30', { format: 'date' }, '2026-02-30'],
    ['soon', { format: 'date' }, 'soon'],
    ['2026-11-18', {}, '2026-11-18'],
    ['2026-11-18T09:30:00Z', { format: 'date-time' }, 'Wed, Nov 18, 2026, 9:30 AM UTC'],
    ['2026-11-18T09:30:05+01:00', { format: 'date-time' }, 'Wed, Nov 18, 2026, 8:30:05 AM UTC'],
    ['2026-11-18T09:30:00.250Z', { format: 'date-time' }, '2026-11-18T09:30:00.250Z'],
    ['2026-11-18T09:30:00', { format: 'date-time' }, '2026-11-18T09:30:00'],
    ['2026-02-30T09:30:00Z', { format: 'date-time' }, '2026-02-30T09:30:00Z'],
    [5, { format: 'date' }, 5],
  ])('%j reads as a person writes it', (value, schema, expected) => {
    const read = (linesOf({ at: value }, { properties: { at: schema } }) as unknown[][])[0]?.[1];
    expect(typeof read === 'string' ? read.replaceAll('\u202f', ' ') : read).toBe(expected);
  });
});
