import { runInNewContext } from 'node:vm';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { asSchema, type SchemaInput } from './schema.ts';

const json = { type: 'object', properties: { amount: { type: 'number', minimum: 1 } }, required: ['amount'] };

const vendors: readonly [string, SchemaInput, object | undefined][] = [
  ['zod', z.object({ amount: z.number().min(1) }), undefined],
  ['arktype', type({ amount: 'number >= 1' }), undefined],
  ['valibot', v.object({ amount: v.pipe(v.number(), v.minValue(1)) }), json],
  ['plain JSON Schema', json, undefined],
];

describe.each(vendors)('a schema of %s', (_vendor, given, beside) => {
  const schema = asSchema(given, 'the schema', beside as never);

  test('takes what fits', async () => {
    expect(await schema.validate({ amount: 5 })).toEqual({ ok: true, value: { amount: 5 } });
  });

  test('says what does not fit, and where', async () => {
    const found = await schema.validate({ amount: 'five' });
    expect(found.ok).toBe(false);
    expect(!found.ok && found.problems.join()).toMatch(/amount/);
    expect(await schema.validate({ amount: 0 })).toMatchObject({ ok: false });
    expect(await schema.validate(null)).toMatchObject({ ok: false });
  });

  test('gives the JSON Schema for models', () => {
    expect(schema.json()).toMatchObject({ type: 'object', required: ['amount'] });
    expect(schema.json()).not.toHaveProperty('$schema');
  });
});

describe('schemas that cannot be used', () => {
  test.each<readonly [string, object, string]>([
    ['a shape of zod', { amount: z.number() }, 'z.object({ … })'],
    ['a shape of valibot, with names of keywords', { type: v.string(), title: v.string() }, 'not JSON Schema'],
    ['a schema of zod among the properties', { type: 'object', properties: { amount: z.number() } }, 'not JSON Schema'],
    ['a wrapper that has functions', { jsonSchema: {}, validate: () => true }, 'a function is not JSON'],
    ['properties alone', { amount: { type: 'number' }, to: { type: 'string' } }, 'among amount, to'],
    ['properties with names of keywords', { title: { type: 'string' } }, 'among title'],
  ])('%s would check nothing', (_what, given, problem) => {
    const refused = { code: 'unusable-schema', message: expect.stringContaining(problem) };
    expect(() => asSchema(given as SchemaInput, 'the schema')).toThrow(expect.objectContaining(refused));
  });

  test.each([
    {},
    { description: 'Anything.' },
    { $ref: '#/$defs/a', $defs: { a: true } },
    { enum: [1, 2], 'x-own': { any: 1 } },
    { properties: { amount: true } },
  ])('%o is JSON Schema', (given) => {
    expect(asSchema(given, 'the schema').json()).toBe(given);
  });

  test('a vendor that has no JSON Schema asks for it beside the schema', () => {
    const schema = asSchema(v.object({}), 'the inputSchema of tool pay');
    expect(() => schema.json()).toThrow('Pass it beside the schema as inputJsonSchema');
  });

  test('a schema of an older zod says which one it takes', () => {
    const schema = asSchema(z3.object({}), 'the inputSchema of tool pay');
    expect(() => schema.json()).toThrow('Use zod 4.2 or later, such as the `z` of countersign; or pass it beside');
  });

  test('a type that JSON does not have is named with the tool', () => {
    const schema = asSchema(z.object({ when: z.date() }), 'the inputSchema of tool pay');
    expect(() => schema.json()).toThrow('the inputSchema of tool pay cannot be described to a model');
  });

  test('something else is refused', () => {
    expect(() => asSchema(5 as never, 'the inputSchema of tool pay')).toThrow('which is not a schema');
  });

  test('a broken JSON Schema is an error that names the tool', () => {
    const schema = asSchema({ $ref: '#/nowhere' }, 'the inputSchema of tool pay');
    expect(() => schema.validate({})).toThrow('the inputSchema of tool pay is not a usable JSON Schema');
  });
});

test('a schema that validates asynchronously works', async () => {
  const schema = asSchema(
    z.string().refine(async (value) => value !== 'taken', 'is taken'),
    'the schema',
  );
  expect(await schema.validate('free')).toEqual({ ok: true, value: 'free' });
  expect(await schema.validate('taken')).toEqual({
    ok: false,
    problems: ['is taken'],
    issues: [{ path: [], message: 'is taken' }],
  });
});

describe.each([
  [4, (check: () => Promise<boolean>) => z.object({ to: z.string().refine(check, 'is unknown') })],
  [3, (check: () => Promise<boolean>) => z3.object({ to: z3.string().refine(check, 'is unknown') })],
])('a schema of zod %i that looks something up', (_version, schemaWith) => {
  const lookUp = (found: () => Promise<boolean>) => {
    let times = 0;
    const check = () => {
      times += 1;
      return found();
    };
    return { schema: asSchema(schemaWith(check), 'the schema'), times: () => times };
  };

  test('does so once for what fits', async () => {
    const { schema, times } = lookUp(async () => true);
    expect(await schema.validate({ to: 'ann' })).toEqual({ ok: true, value: { to: 'ann' } });
    expect(times()).toBe(1);
  });

  test('says what does not fit', async () => {
    const { schema } = lookUp(async () => false);
    expect(await schema.validate({ to: 'ann' })).toMatchObject({ ok: false, problems: ['to: is unknown'] });
  });

  test('and fails leaves no promise behind that ends the process', async () => {
    const dropped: unknown[] = [];
    const hear = (reason: unknown) => dropped.push(reason);
    process.on('unhandledRejection', hear);
    try {
      const { schema } = lookUp(() => Promise.reject(new Error('The list is away')));
      await expect(schema.validate({ to: 'ann' })).rejects.toThrow('The list is away');
      await new Promise((resolve) => setImmediate(resolve));
      expect(dropped).toEqual([]);
    } finally {
      process.off('unhandledRejection', hear);
    }
  });
});

test('a schema of zod waits for nothing where there is nothing to look up', () => {
  const schema = asSchema(z.object({ amount: z.number().default(1) }), 'the schema');
  expect(schema.validate({})).toEqual({ ok: true, value: { amount: 1 } });
  expect(schema.validate({ amount: 'one' })).toMatchObject({ ok: false });
});

test('a promise of another realm is waited for', async () => {
  const validate = (value: unknown) => {
    const found = value === 5 ? { value } : { issues: [{ message: 'is not five' }] };
    return runInNewContext('Promise.resolve(found)', { found });
  };
  const schema = asSchema({ '~standard': { version: 1, vendor: 'own', validate } }, 'the schema');
  expect(await schema.validate(5)).toEqual({ ok: true, value: 5 });
  expect(await schema.validate(6)).toMatchObject({ ok: false, problems: ['is not five'] });
});
