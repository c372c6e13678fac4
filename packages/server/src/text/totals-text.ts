// What several requests come to, as plain text.
import type { InputTotals } from 'countersign/request';
import { visibleLine } from './visible-text.ts';

/** As in `3 requests, sum of amount 29.3 EUR and 100 USD, 2 payees`. */
export function totalsText({ count, sums, recipients }: InputTotals): string {
  const many = (number: number, one: string) => `${number} ${one}${number === 1 ? '' : 's'}`;
  const amount = (decimal: number | string, currency: string | null) =>
    currency === null ? `${decimal}` : `${decimal} ${currency}`;
  const fields = [...Map.groupBy(sums, ({ name }) => name)].map(([name, own]) => {
    const added = own.map(({ sum, currency }) => amount(sum, currency)).join(' and ');
    return `sum of ${visibleLine(name)} ${added}`;
  });
  const named = recipients ? [many(recipients.count, sums.length > 0 ? 'payee' : 'recipient')] : [];
  return [many(count, 'request'), ...fields, ...named].join(', ');
}

/** As in `largest amount: 20.2 EUR`; for each field, and each currency. */
export const largestText = ({ sums }: InputTotals): readonly string[] =>
  sums
    .filter(({ count }) => count > 1)
    .map(({ name, largest, currency }) =>
      [`largest ${visibleLine(name)}:`, `${largest}`, ...(currency === null ? [] : [currency])].join(' '),
    );
