// One row of the list: its headline; then the input in short, and the small print.
import {
  cameText,
  decisionOutcome,
  OutcomeIcon,
  outcomeOf,
  People,
  PersonName,
  titleOf,
  useWords,
  VisibleText,
  votesOn,
} from '@countersign/react';
import { CircleHelp, Hand, NotebookPen, ShieldQuestionMark, TriangleAlert, UserRoundCheck, Users } from 'lucide-react';
import { memo } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import { GrantMark } from '../grants/grant-note.tsx';
import { Ago, Left } from '../live/time.tsx';
import { OUTCOME_TONES, outcomeWord } from '../look/words.ts';
import { canSelect } from '../many/use-selection.ts';
import { RemarkMarks } from './remark-notes.tsx';
import { RiskMark } from './risk-mark.tsx';
import { summaryOf } from './summary.ts';

type RequestRowProps = {
  readonly request: ApiRequest;
  /** Its place in the list, counted from 1. */
  readonly place?: number;
  /** How many the list has; -1 if that is not known. */
  readonly size?: number;
  readonly href: string;
  readonly isOpen: boolean;
  readonly isSelected?: boolean;
  /** Without it, the row cannot be selected. */
  readonly onSelect?: (request: ApiRequest, isRange: boolean) => void;
  readonly onOpen?: () => void;
};

/** Renders again only when it changed, because a list may be long. */
export const RequestRow = memo(function RequestRow(props: RequestRowProps) {
  const { request, place, size, href, isOpen, isSelected = false, onSelect, onOpen } = props;
  const { id, tool, agent, risk, reversibility, createdAt, expiresAt, labels, decision } = request;
  const summary = summaryOf(request);
  const outcome = outcomeOf(request);
  const decidedAt = (decision ?? request.rule)?.at ?? (request.grant?.is === 'used' ? request.grant.at : null);
  return (
    <li className="row relative border-b border-line" aria-posinset={place} aria-setsize={size}>
      {onSelect && canSelect(request) && (
        <label className="absolute bottom-0 left-0 z-1 flex h-10 w-11 items-center justify-center max-md:h-12">
          <input
            type="checkbox"
            className="size-4 accent-accent max-md:size-5"
            aria-label={`Select ${titleOf(request)}`}
            checked={isSelected}
            onChange={({ nativeEvent }) => onSelect(request, (nativeEvent as MouseEvent).shiftKey === true)}
          />
        </label>
      )}
      <Link
        href={href}
        onClick={onOpen}
        data-row={id}
        aria-current={isOpen ? 'true' : undefined}
        className="flex min-h-19 gap-3 border-l-2 border-transparent px-3 py-3 -outline-offset-2 hover:bg-sunken aria-[current=true]:border-accent aria-[current=true]:bg-accent-soft"
      >
        {outcome ? <OutcomeIcon outcome={outcome} /> : <KindIcon kind={request.kind} />}
        <span className="flex min-w-0 flex-1 flex-col gap-1">
          <span className="flex items-baseline gap-2">
            <span className="line-clamp-2 min-w-0 font-medium wrap-anywhere">
              <VisibleText text={titleOf(request)} />
            </span>
            <span className="ml-auto shrink-0 text-xs text-muted tabular-nums">
              {decidedAt === null ? createdAt !== null && <Ago at={createdAt} /> : <Ago at={decidedAt} />}
            </span>
          </span>
          {outcome && <Outcome request={request} />}
          {outcome && <GrantMark request={request} />}
          {summary !== '' && (
            <span className="line-clamp-2 text-muted wrap-anywhere">
              <VisibleText text={summary} />
            </span>
          )}
          {decision !== null && decision.note !== null && outcome !== 'expired' && (
            <span className="flex gap-1.5 text-muted">
              <NotebookPen aria-hidden="true" className="mt-0.5 size-3.5 shrink-0" />
              <span className="sr-only">Note: </span>
              <span className="line-clamp-1 min-w-0 italic wrap-anywhere">
                <VisibleText text={decision.note} />
              </span>
            </span>
          )}
          <span className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-xs text-muted">
            {!outcome && request.previous && <span className="chip">round {request.previous.round + 1}</span>}
            {!outcome && isAskedAgain(request) && <span className="chip">asked again</span>}
            {!outcome && risk !== null && <RiskMark risk={risk} />}
            {!outcome && reversibility === 'irreversible' && (
              <span className="shrink-0 text-danger">Cannot be undone</span>
            )}
            <span className="max-w-full truncate font-mono">
              <VisibleText text={tool} />
            </span>
            <span className="max-w-full truncate">
              <VisibleText text={agent} />
            </span>
            {!outcome && expiresAt !== null && <Left until={expiresAt} />}
            {!outcome && <RemarkMarks {...request} />}
            {!outcome && <Votes request={request} />}
            {!outcome && <Assignee request={request} />}
            {labels.slice(0, 3).map((label) => (
              <span key={label} className="chip">
                <span className="truncate">
                  <VisibleText text={label} />
                </span>
              </span>
            ))}
          </span>
        </span>
      </Link>
    </li>
  );
});

/** Its preview has changed, or someone has proposed other input. */
const isAskedAgain = ({ earlierPreview, progress }: ApiRequest): boolean =>
  earlierPreview !== null || (progress?.round ?? 1) > 1;

/** “1 of 2 votes”, and whether the user has voted. */
function Votes({ request }: { readonly request: ApiRequest }) {
  const counted = votesOn(request);
  if (!counted) return null;
  const { given, needed } = counted;
  const hasVoted = request.progress?.votes.some(({ isYours }) => isYours);
  if (needed < 2 && !hasVoted) return null;
  return (
    <span className="inline-flex items-center gap-1 tabular-nums">
      <Users aria-hidden="true" className="size-3.5 shrink-0" />
      {given} of {needed} votes{hasVoted && ', you voted'}
    </span>
  );
}

function Assignee({ request: { assignee, names } }: { readonly request: ApiRequest }) {
  if (assignee === null) return null;
  const isReview = assignee.until !== null;
  const Icon = isReview ? Hand : UserRoundCheck;
  return (
    <span className="inline-flex min-w-0 items-center gap-1 text-info">
      <Icon aria-hidden="true" className="size-3.5 shrink-0" />
      {!isReview && <span className="sr-only">Assigned to </span>}
      <span className="truncate">
        <People names={names}>
          <PersonName id={assignee.person} />
        </People>
      </span>
      {isReview && <span className="sr-only"> is reviewing this</span>}
    </span>
  );
}

const isBad = ({ outcome }: ApiRequest): boolean => outcome?.state === 'failed' || outcome?.state === 'unknown';

/** “Rejected by ada: too expensive”, or “Approved by ada. Failed: no funds” */
function Outcome({ request }: { readonly request: ApiRequest }) {
  const { decision, grant, rule } = request;
  const outcome = decisionOutcome(request) ?? 'withdrawn';
  const why = decision?.comment ?? decision?.reason;
  const came = cameText(request.outcome, useWords());
  return (
    <span className="line-clamp-2 min-w-0 wrap-anywhere">
      <span className={isBad(request) ? 'text-muted' : OUTCOME_TONES[outcomeOf(request) ?? outcome]}>
        {rule ? 'Allowed by a rule' : outcomeWord(outcome, request)}
        {outcome !== 'expired' && decision !== null && decision.by !== null && (
          <>
            {' by '}
            <People names={request.names}>
              <PersonName id={decision.by} />
            </People>
          </>
        )}
        {grant?.is === 'used' && grant.by !== null && (
          <>
            {' of '}
            <People names={request.names}>
              <PersonName id={grant.by} />
            </People>
          </>
        )}
      </span>
      {why !== undefined && outcome !== 'expired' && (
        <>
          {': '}
          <VisibleText text={why.slice(0, 200)} />
        </>
      )}
      {came !== undefined && (
        <span className={isBad(request) ? OUTCOME_TONES[outcomeOf(request) ?? outcome] : 'text-muted'}>
          {'. '}
          <VisibleText text={came} />
        </span>
      )}
    </span>
  );
}

function KindIcon({ kind }: { readonly kind: ApiRequest['kind'] }) {
  const isUrgent = kind === 'doubt' || kind === 'unavailable';
  const className = `mt-px size-5 shrink-0 ${isUrgent ? 'text-warning' : 'text-muted'}`;
  const common = { 'aria-hidden': true, strokeWidth: 1.75, className } as const;
  switch (kind) {
    case 'question':
      return <CircleHelp {...common} />;
    case 'approval':
    case 'interrupt':
    case 'recall':
      return <ShieldQuestionMark {...common} />;
    case 'doubt':
    case 'unavailable':
      return <TriangleAlert {...common} />;
  }
}
