// Exact sums of decimal numbers: JSON writes decimals, and binary numbers would round their sums.

/** Whole multiples of one power of ten. */
type Scaled = { readonly values: readonly bigint[]; readonly exponent: number };

/** The decimals as multiples of the smallest power of ten that all of them have. */
export function scaled(decimals: readonly (number | string)[]): Scaled {
  const read = decimals.map(decimalOf);
  const exponent = read.reduce((least, one) => (one.exponent < least ? one.exponent : least), 0);
  return { values: read.map((one) => one.digits * 10n ** BigInt(one.exponent - exponent)), exponent };
}

export const decimalNumber = (value: bigint, exponent: number): number => Number(`${value}e${exponent}`);

/** The exact sum as a decimal, such as `1234.5`. */
export function sumOf(decimals: readonly (number | string)[]): string {
  const { values, exponent } = scaled(decimals);
  return decimalText(
    values.reduce((sum, value) => sum + value, 0n),
    exponent,
  );
}

/** Below 0 if the first is less, above 0 if it is more. */
export function compareDecimals(one: number | string, other: number | string): number {
  const [a = 0n, b = 0n] = scaled([one, other]).values;
  return a < b ? -1 : Number(a > b);
}

/** `exponent` is 0 at most. */
function decimalText(value: bigint, exponent: number): string {
  if (exponent === 0) return `${value}`;
  const digits = `${value < 0n ? -value : value}`.padStart(1 - exponent, '0');
  const fraction = digits.slice(exponent).replace(/0+$/, '');
  return `${value < 0n ? '-' : ''}${digits.slice(0, exponent)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The decimal as which JSON writes the number. */
function decimalOf(value: number | string): { readonly digits: bigint; readonly exponent: number } {
  const [mantissa = '0', exponent = '0'] = String(value).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
