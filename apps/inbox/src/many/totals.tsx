// What the selected requests of one tool come to: their number, the sums, the recipients and the largest.
import { VisibleText } from '@countersign/react';
import type { FieldSum, InputTotals } from 'countersign/request';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import { amountText } from './amount-text.ts';

type TotalsProps = {
  readonly totals: InputTotals;
  readonly items: readonly ApiRequest[];
  readonly hrefOf: (id: string) => string;
};

export function Totals({ totals: { count, sums, recipients }, items, hrefOf }: TotalsProps) {
  if (count < 2 || (sums.length === 0 && recipients === null)) return null;
  return (
    <dl className="panel flex flex-wrap gap-x-8 gap-y-3 px-4 py-3" aria-label="Totals">
      <Figure name="Requests">{count.toLocaleString('en')}</Figure>
      {sums.map((sum) => (
        <Sum key={JSON.stringify([sum.path, sum.currency])} sum={sum} count={count} items={items} hrefOf={hrefOf} />
      ))}
      {recipients && (
        <Figure name={sums.length > 0 ? 'Payees' : 'Recipients'}>{recipients.count.toLocaleString('en')}</Figure>
      )}
    </dl>
  );
}

type SumProps = Pick<TotalsProps, 'items' | 'hrefOf'> & { readonly sum: FieldSum; readonly count: number };

function Sum({ sum, count, items, hrefOf }: SumProps) {
  const largest = items[sum.largestAt];
  return (
    <Figure
      name={
        <>
          Sum of <VisibleText text={sum.name} isName />
          {sum.count < count && `, ${sum.count.toLocaleString('en')} of ${count.toLocaleString('en')}`}
        </>
      }
    >
      {amountText(sum.sum, sum.currency)}
      {sum.count > 1 && largest && (
        <Link
          href={hrefOf(largest.id)}
          className="block text-xs font-normal text-muted underline decoration-line underline-offset-2 hover:decoration-ink"
        >
          Largest: {amountText(sum.largest, sum.currency)}
        </Link>
      )}
    </Figure>
  );
}

type FigureProps = { readonly name: ReactNode; readonly children: ReactNode };

function Figure({ name, children }: FigureProps) {
  return (
    <div className="min-w-20">
      <dt className="text-xs text-muted wrap-anywhere">{name}</dt>
      <dd className="text-base font-semibold tabular-nums wrap-anywhere">{children}</dd>
    </div>
  );
}

/** “4 requests, sum of amount €806.00 and $20.00, 4 payees” */
export function totalsText({ count, sums, recipients }: InputTotals): string {
  const many = (number: number, one: string, several: string) =>
    `${number.toLocaleString('en')} ${number === 1 ? one : several}`;
  return [
    many(count, 'request', 'requests'),
    ...[...Map.groupBy(sums, ({ name }) => name)].map(
      ([name, own]) => `sum of ${name} ${own.map(({ sum, currency }) => amountText(sum, currency)).join(' and ')}`,
    ),
    ...(recipients && sums.length > 0 ? [many(recipients.count, 'payee', 'payees')] : []),
    ...(recipients && sums.length === 0 ? [many(recipients.count, 'recipient', 'recipients')] : []),
  ].join(', ');
}
