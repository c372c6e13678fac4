// Exact decimals as people read them, in a currency if there is one.

/** `€1,234.50`, or `1,234.5` without a currency. */
export function amountText(decimal: number | string, currency: string | null): string {
  const digits = { maximumFractionDigits: 20 };
  try {
    const format = new Intl.NumberFormat('en', currency === null ? digits : { style: 'currency', currency, ...digits });
    // Text stays exact; the type knows only texts that are written out.
    return format.format(`${decimal}` as Intl.StringNumericLiteral);
  } catch {
    return currency === null ? `${decimal}` : `${decimal} ${currency}`;
  }
}
