// One row of the list: the tool, a summary, risk, age, and who is reviewing it.
import { VisibleText } from '@countersign/react';
import { CircleHelp, Hand, NotebookPen, ShieldQuestionMark, TriangleAlert } from 'lucide-react';
import { memo } from 'react';
import { Link } from 'wouter';
import type { Interrupt } from '../api/wire.ts';
import { Ago, Left } from '../live/time.tsx';
import { isExpired, outcomeOf } from './outcome.ts';
import { RiskMark } from './risk-mark.tsx';
import { summaryOf } from './summary.ts';

type InterruptRowProps = { readonly interrupt: Interrupt; readonly href: string; readonly isOpen: boolean };

/** Renders again only when it changed, because a list may be long. */
export const InterruptRow = memo(function InterruptRow({ interrupt, href, isOpen }: InterruptRowProps) {
  const { id, tool, agent, risk, createdAt, expiresAt, labels, hold, decision } = interrupt;
  const summary = summaryOf(interrupt);
  return (
    <li className="row border-b border-line">
      <Link
        href={href}
        data-row={id}
        aria-current={isOpen ? 'true' : undefined}
        className="flex gap-3 border-l-2 border-transparent px-3 py-2.5 -outline-offset-2 hover:bg-sunken aria-[current=true]:border-accent aria-[current=true]:bg-accent-soft"
      >
        <KindIcon kind={interrupt.kind} />
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="flex items-baseline gap-2">
            <span className="min-w-0 truncate font-medium">
              <VisibleText text={tool} />
            </span>
            <span className="ml-auto shrink-0 text-xs text-muted">
              {decision?.at ? <Ago at={decision.at} /> : createdAt !== null && <Ago at={createdAt} />}
            </span>
          </span>
          {summary !== '' && (
            <span className="line-clamp-2 text-muted wrap-anywhere">
              <VisibleText text={summary} />
            </span>
          )}
          {decision !== null && decision.note !== null && !isExpired(decision) && (
            <span className="flex gap-1.5 text-muted">
              <NotebookPen aria-hidden="true" className="mt-0.5 size-3.5 shrink-0" />
              <span className="sr-only">Note: </span>
              <span className="line-clamp-2 min-w-0 italic wrap-anywhere">
                <VisibleText text={decision.note} />
              </span>
            </span>
          )}
          <span className="mt-0.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
            {decision ? <Outcome decision={decision} /> : risk !== null && <RiskMark risk={risk} />}
            <span className="max-w-full truncate">
              <VisibleText text={agent} />
            </span>
            {!decision && expiresAt !== null && <Left until={expiresAt} />}
            {labels.slice(0, 3).map((label) => (
              <span key={label} className="chip">
                <span className="truncate">
                  <VisibleText text={label} />
                </span>
              </span>
            ))}
            {!decision && hold && (
              <span className="inline-flex min-w-0 items-center gap-1 text-info">
                <Hand aria-hidden="true" className="size-3.5 shrink-0" />
                <span className="truncate">
                  <VisibleText text={hold.by} />
                </span>
                <span className="sr-only">is reviewing this</span>
              </span>
            )}
          </span>
        </span>
      </Link>
    </li>
  );
});

function Outcome({ decision }: { readonly decision: NonNullable<Interrupt['decision']> }) {
  const { word, tone } = outcomeOf(decision);
  return (
    <span className={`min-w-0 wrap-anywhere ${tone}`}>
      {word}
      {isExpired(decision)
        ? ' (expired)'
        : decision.by !== null && (
            <>
              {' by '}
              <VisibleText text={decision.by} />
            </>
          )}
    </span>
  );
}

function KindIcon({ kind }: { readonly kind: Interrupt['kind'] }) {
  const common = { 'aria-hidden': true, strokeWidth: 1.75, className: 'mt-0.5 size-4 shrink-0 text-muted' } as const;
  switch (kind) {
    case 'question':
      return <CircleHelp {...common} />;
    case 'approval':
    case 'interrupt':
      return <ShieldQuestionMark {...common} />;
    case 'unknown-outcome':
    case 'unavailable':
      return <TriangleAlert {...common} />;
  }
}
