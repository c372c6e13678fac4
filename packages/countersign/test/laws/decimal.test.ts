// The laws of decimals: they are as exact as fractions of whole numbers.
import fc from 'fast-check';
import { expect } from 'vitest';
import { compareDecimals, decimalNumber, scaled, sumOf } from '../../src/core/decimal.ts';
import { law } from './law.ts';

/** A decimal as a fraction, read without the code under test. */
type Fraction = { readonly over: bigint; readonly under: bigint };

function fractionOf(decimal: number | string): Fraction {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)\.?(\d*)(?:e([+-]?\d+))?$/.exec(String(decimal)) ?? [];
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const shift = Number(power) - fraction.length;
  return shift >= 0
    ? { over: digits * 10n ** BigInt(shift), under: 1n }
    : { over: digits, under: 10n ** BigInt(-shift) };
}
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const sign = (a: Fraction, b: Fraction): number => {
  const [left, right] = [a.over * b.under, b.over * a.under];
  return left < right ? -1 : Number(left > right);
};
const ZERO: Fraction = { over: 0n, under: 1n };

const written = fc
  .tuple(fc.constantFrom('', '-'), fc.bigInt({ min: 0n, max: 10n ** 24n }), fc.stringMatching(/^\d{0,12}$/))
  .map(([minus, whole, fraction]) => `${minus}${whole}${fraction === '' ? '' : `.${fraction}`}`);
const decimal = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e40, max: 1e40 }),
  fc.integer(),
  fc.constantFrom(0, -0, 0.1, 0.2, 0.3, 1e21, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER),
  written,
);

law(
  'comparing is exact',
  fc.property(decimal, decimal, (a, b) => {
    expect(compareDecimals(a, b)).toBe(sign(fractionOf(a), fractionOf(b)));
    expect(compareDecimals(b, a)).toBe(0 - compareDecimals(a, b) + 0);
    expect(compareDecimals(a, a)).toBe(0);
  }),
);
law(
  'a sum is exact, in any order',
  fc.property(fc.array(decimal, { maxLength: 8 }), (all) => {
    const sum = sumOf(all);
    expect(sign(fractionOf(sum), all.map(fractionOf).reduce(plus, ZERO))).toBe(0);
    expect(sumOf(all.toReversed())).toBe(sum);
    expect(sumOf([sum])).toBe(sum);
  }),
);
law(
  'a scaled number is the number',
  fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
    const { values, exponent } = scaled([value]);
    expect(decimalNumber(values[0] ?? -1n, exponent)).toBe(value === 0 ? 0 : value);
  }),
);
