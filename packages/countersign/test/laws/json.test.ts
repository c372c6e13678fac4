// The laws of JSON values: their copy, their one text, and when two are the same.
import fc from 'fast-check';
import { expect } from 'vitest';
import { canonicalJson, copyOf, type Json, sameJson, toJson } from '../../src/core/json.ts';
import { faultInJson } from '../../src/core/json-text.ts';
import { law } from './law.ts';

const keys = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('a', 'b', '1', '10', '2', 'toString', '\u2028'));
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'json' },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ maxLength: 6 }),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(
      keys.filter((key) => key !== '__proto__'),
      tie('json'),
      { maxKeys: 5, noNullPrototype: true },
    ) as fc.Arbitrary<Json>,
  ),
}));

/** The same value with the keys of all objects in another order. */
function reordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reordered(item)]),
  );
}

const LIMITS = { depth: 500, values: 10_000 };

law(
  'the canonical text is a text of the same value, and the text of that value again',
  fc.property(json, (value) => {
    const text = canonicalJson(value);
    expect(sameJson(JSON.parse(text), value)).toBe(true);
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  }),
);
law(
  'the order of keys does not matter',
  fc.property(json, (value) => {
    expect(canonicalJson(reordered(value))).toBe(canonicalJson(value));
    expect(sameJson(reordered(value), value)).toBe(true);
  }),
);
law(
  'two values have the same text exactly if they are the same value',
  fc.property(json, json, fc.boolean(), (one, other, isCopy) => {
    const second = isCopy ? reordered(structuredClone(one)) : other;
    expect(sameJson(one, second)).toBe(canonicalJson(one) === canonicalJson(second));
    expect(sameJson(second, one)).toBe(sameJson(one, second));
  }),
);
law(
  'a copy is the same value, and shares nothing',
  fc.property(json, (value) => {
    const text = JSON.stringify(value);
    const copy = toJson(value);
    expect(copy).toMatchObject({ ok: true });
    expect(sameJson(copy.ok ? copy.value : undefined, value)).toBe(true);
    const mine = copyOf(value);
    if (typeof mine === 'object' && mine !== null) Object.assign(mine, { changed: true, 0: 'changed' });
    expect(JSON.stringify(value)).toBe(text);
  }),
);
law(
  'any value at all is copied as JSON writes it, or refused',
  fc.property(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true, withNullPrototype: true }),
    (value) => {
      const copy = toJson(value);
      if (!copy.ok) return;
      const text = JSON.stringify(copy.value);
      expect(JSON.stringify(value) ?? 'null').toBe(text);
      expect(sameJson(JSON.parse(text), copy.value)).toBe(true);
    },
  ),
);
law(
  'a text that JSON writes has no fault, and one that repeats a key has one, however the key is written',
  fc.property(json, keys, (value, key) => {
    expect(faultInJson(JSON.stringify(value), LIMITS)).toBeUndefined();
    expect(faultInJson(JSON.stringify(value, null, 2), LIMITS)).toBeUndefined();
    const escaped = [...JSON.stringify(key).slice(1, -1)].map((char) =>
      /[a-z0-9]/.test(char) && !JSON.stringify(key).includes('\\') ? `\\u00${char.charCodeAt(0).toString(16)}` : char,
    );
    const repeated = `{${JSON.stringify(key)}:${JSON.stringify(value)},"${escaped.join('')}":1}`;
    expect(faultInJson(repeated, LIMITS)?.kind).toBe('key');
  }),
);
