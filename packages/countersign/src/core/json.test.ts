import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { canonicalJson, sameJson, toJson } from './json.ts';

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

const deep = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};

describe('toJson', () => {
  test.each([
    [0, 0],
    [-0, 0],
    ['', ''],
    [false, false],
    [null, null],
    [undefined, null],
    [
      [undefined, 1],
      [null, 1],
    ],
    [new Array(2), [null, null]],
    [{ a: undefined, b: 1 }, { b: 1 }],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [{ toJSON: () => ({ shown: true }) }, { shown: true }],
    [Object.create(null), {}],
    [
      new (class Point {
        x = 1;
      })(),
      { x: 1 },
    ],
    [runInNewContext('({})'), {}],
  ])('takes %o as JSON does', (value, expected) => {
    expect(toJson(value)).toEqual({ ok: true, value: expected });
  });

  test.each([
    ['a cycle', cyclic, 'at self: it refers to itself'],
    ['a bigint', { amount: 1n }, 'at amount: a bigint is not JSON'],
    ['a function', [() => 1], 'at [0]: a function is not JSON'],
    ['a symbol', { tag: Symbol('x') }, 'at tag: a symbol is not JSON'],
    ['NaN', { a: { b: Number.NaN } }, 'at a.b: NaN is not a JSON number'],
    ['infinity', Number.POSITIVE_INFINITY, 'Infinity is not a JSON number'],
    ['a map', new Map(), 'a Map or Set is not JSON'],
    ['a promise', { receipt: Promise.resolve(1) }, 'at receipt: a Promise is not JSON: it would be {}'],
    ['an error', new TypeError('no'), 'an Error is not JSON: throw it, or give its message'],
    ['a response', new Response('x'), 'a Response is not JSON: it would be {}'],
    ['a generator', (function* () {})(), 'a Generator is not JSON: it would be {}'],
    ['a private class', new (class Card {})(), 'an object of a class without fields is not JSON: it would be {}'],
    ['a __proto__ key', JSON.parse('{"a":{"__proto__":{"admin":true}}}'), 'at a: the key "__proto__" is not allowed'],
    [
      'a getter that throws',
      Object.defineProperty({}, 'x', {
        enumerable: true,
        get: () => {
          throw new Error('no');
        },
      }),
      'it cannot be read: no',
    ],
  ])('refuses %s and says where it stands', (_name, value, problem) => {
    expect(toJson(value)).toEqual({ ok: false, problem });
  });

  test('refuses deep nesting instead of overflowing the stack', () => {
    expect(toJson(deep(400)).ok).toBe(true);
    expect(toJson(deep(100_000))).toMatchObject({ ok: false, problem: expect.stringContaining('nested deeper than') });
  });

  test('copies, so that changing the original does not change the record', () => {
    const original = { list: [1] };
    const copy = toJson(original);
    original.list.push(2);
    expect(copy).toEqual({ ok: true, value: { list: [1] } });
  });

  test('the same object in two places is not a cycle', () => {
    const shared = { a: 1 };
    expect(toJson([shared, shared])).toEqual({ ok: true, value: [{ a: 1 }, { a: 1 }] });
  });
});

test('a copy shares nothing with the original, and has only what JSON has', () => {
  const original = { a: [{ b: -0 }], [Symbol('s')]: 1, left: undefined, at: new Date(0) };
  const copied = toJson(original);
  expect(copied).toStrictEqual({ ok: true, value: { a: [{ b: 0 }], at: '1970-01-01T00:00:00.000Z' } });
  const plain = { a: [{ b: 1 }], [Symbol('s')]: 1 };
  const { value } = toJson(plain) as { value: unknown };
  expect(Reflect.ownKeys(value as object)).toEqual(['a']);
  plain.a[0] = { b: 2 };
  expect(value).toEqual({ a: [{ b: 1 }] });
});

describe('sameJson', () => {
  test.each([
    [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1 }, { a: '1' }, false],
    [{ a: null }, {}, false],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [{ toString: 1 }, {}, false],
    [0, false, false],
    [new Date(0), {}, false],
    [new Map([['a', 1]]), {}, false],
    [{ a: { at: new Date(0) } }, { a: { at: {} } }, false],
    [{ a: 1, toJSON: () => ({ a: 2 }) }, { a: 1 }, false],
    [runInNewContext('({ a: [{ b: 1 }] })'), { a: [{ b: 1 }] }, true],
  ])('%o and %o: %s', (a, b, same) => {
    expect(sameJson(a, b)).toBe(same);
    expect(sameJson(b, a)).toBe(same);
  });
});

test('canonical JSON is the same text for any order of keys, and keeps the order of arrays', () => {
  const text = canonicalJson({ b: [{ d: 1, c: undefined }, 2], a: { y: null, x: '' } });
  expect(text).toBe('{"a":{"x":"","y":null},"b":[{"d":1},2]}');
  expect(canonicalJson({ a: { x: '', y: null }, b: [{ d: 1 }, 2] })).toBe(text);
  expect(canonicalJson({ a: { x: '', y: null }, b: [2, { d: 1 }] })).not.toBe(text);
  expect(canonicalJson({ b: new Date(0), a: { toJSON: () => ({ d: 1, c: 2 }) } })).toBe(
    '{"a":{"c":2,"d":1},"b":"1970-01-01T00:00:00.000Z"}',
  );
  expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1},"b":1}');
});
