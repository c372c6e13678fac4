// What stands out in a request, beside those of its tool that were approved lately: quietly, and only what the record says.
import { VisibleText } from '@countersign/react';
import { CopyCheck, TrendingUp, UserRoundPlus } from 'lucide-react';
import { Fragment, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import { Ago } from '../live/time.tsx';
import { amountText } from '../many/amount-text.ts';

type Remark = NonNullable<ApiRequest['remarks']>[number];

/** In a row of the list: a few words. */
export function RemarkMarks({ remarks = [] }: Pick<ApiRequest, 'remarks'>) {
  return remarks.map((remark) => {
    const { icon: Icon, short } = LOOKS[remark.type];
    return (
      <span key={keyOf(remark)} className="inline-flex shrink-0 items-center gap-1">
        <Icon aria-hidden="true" className="size-3.5 shrink-0 text-warning" />
        {short}
      </span>
    );
  });
}

/** On the card: with what it was compared. */
export function RemarkNotes({ remarks = [] }: Pick<ApiRequest, 'remarks'>) {
  if (remarks.length === 0) return null;
  return (
    <ul aria-label="What stands out" className="flex flex-col gap-1">
      {remarks.map((remark) => {
        const { icon: Icon } = LOOKS[remark.type];
        return (
          <li key={keyOf(remark)} className="flex items-start gap-1.5 text-muted">
            <Icon aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warning" />
            <span className="min-w-0 wrap-anywhere">{sentence(remark)}</span>
          </li>
        );
      })}
    </ul>
  );
}

const LOOKS = {
  'new-recipient': { icon: UserRoundPlus, short: 'New recipient' },
  'larger-than-usual': { icon: TrendingUp, short: 'Larger than usual' },
  'same-as-before': { icon: CopyCheck, short: 'Same as before' },
} as const;

const keyOf = (remark: Remark): string => `${remark.type} ${'field' in remark ? remark.field : ''}`;

function sentence(remark: Remark): ReactNode {
  switch (remark.type) {
    case 'new-recipient':
      return (
        <>
          New recipient: none of the last {remark.among} approved requests was for{' '}
          <VisibleText text={nameOf(remark.value)} />.
        </>
      );
    case 'larger-than-usual': {
      const { field, most, currency, among, recipient } = remark;
      return (
        <>
          Larger than usual: <VisibleText text={field} isName /> was at most {amountText(most, currency)} in the last{' '}
          {among} approved requests
          {recipient !== undefined && (
            <Fragment>
              {' for '}
              <VisibleText text={nameOf(recipient)} />
            </Fragment>
          )}
          .
        </>
      );
    }
    case 'same-as-before':
      return (
        <>
          Same as{' '}
          <Link href={`/history/${encodeURIComponent(remark.requestId)}`} className="underline underline-offset-2">
            a request
          </Link>{' '}
          that{' '}
          {remark.by === null ? (
            'was approved'
          ) : (
            <>
              <VisibleText text={remark.by} /> approved
            </>
          )}{' '}
          <Ago at={remark.at} />.
        </>
      );
  }
}

const nameOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
