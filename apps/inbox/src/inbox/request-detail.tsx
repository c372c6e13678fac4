// The open request: its card, the decisions, and the conversation so far.
import { outcomeOf, VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { ArrowLeft, ChevronDown, Target, TriangleAlert } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { requestQuery } from '../api/queries.ts';
import type { RequestWithMessages } from '../api/wire.ts';
import { Conversation } from '../conversation/conversation.tsx';
import { Disclosure } from '../frame/disclosure.tsx';
import { LoadingCard, Trouble } from '../frame/placeholders.tsx';
import { GrantNote } from '../grants/grant-note.tsx';
import { Ago } from '../live/time.tsx';
import { drillWords } from '../look/words.ts';
import { Hint } from '../primitives/hint.tsx';
import { AssignMenu } from './assign.tsx';
import { HoldButton, HoldNotice } from './hold.tsx';
import { NotedCard } from './noted-card.tsx';
import { PlanSteps } from './plan-steps.tsx';
import { RemarkNotes } from './remark-notes.tsx';
import { UndoButton } from './undo-button.tsx';
import { useDecidedRow } from './use-decided-row.ts';
import { useDecisions } from './use-decisions.ts';

type RequestDetailProps = {
  readonly id: string;
  readonly onBack: () => void;
  readonly onNext: () => void;
  /** The user has decided it. */
  readonly onDecided: () => void;
  /** Others must agree to the user's edit, which is another request. */
  readonly onAskedAgain: (id: string) => void;
};

export function RequestDetail({ id, ...rest }: RequestDetailProps) {
  const { onBack } = rest;
  const { data, error, refetch } = useQuery(requestQuery(id));
  useDecidedRow(data);
  if (data) return <Detail request={data} {...rest} />;
  return (
    <>
      <Bar onBack={onBack} />
      {error ? (
        <Trouble error={error} what="This request" onRetry={() => void refetch()}>
          <Link href="/" className="button">
            Open the inbox
          </Link>
        </Trouble>
      ) : (
        <LoadingCard />
      )}
    </>
  );
}

/** How many messages before the request are shown at once. */
const LAST_WORDS = 8;

type DetailProps = Omit<RequestDetailProps, 'id'> & { readonly request: RequestWithMessages };

function Detail({ request, onBack, onNext, onDecided, onAskedAgain }: DetailProps) {
  const { actions, allow, conflict, outOfReach } = useDecisions(request, onDecided, onAskedAgain);
  const place = useFocusKept(request.status);
  return (
    <>
      <Bar onBack={onBack}>
        <Facts request={request} />
        {request.status === 'pending' ? (
          request.mayDecide && (
            <>
              <AssignMenu request={request} />
              <HoldButton request={request} />
            </>
          )
        ) : (
          <Hint text="Next request" keys="j">
            <button type="button" className="button" onClick={onNext}>
              Next
              <ChevronDown aria-hidden="true" className="size-4" />
            </button>
          </Hint>
        )}
      </Bar>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Ctrl Enter is a way more to press the button of the form. */}
      <div className="flex min-h-0 flex-1 scroll-pb-24 flex-col overflow-y-auto" onKeyDown={sendByControlEnter}>
        <div
          ref={place}
          className="detail mx-auto flex w-full max-w-3xl flex-1 flex-col gap-5 px-4 pt-4 md:px-6 md:pt-6 md:pb-8"
        >
          <HoldNotice request={request} />
          {conflict !== undefined && (
            <p role="alert" className="flex items-start gap-2 rounded-md bg-warning-soft px-3 py-2 text-warning">
              <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
              <VisibleText text={conflict} />
            </p>
          )}
          {outOfReach && (
            <div
              role="alert"
              className="flex flex-col items-start gap-2 rounded-md bg-warning-soft px-3 py-2 text-warning"
            >
              <p className="flex items-start gap-2">
                <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
                <VisibleText text={outOfReach.message} />
              </p>
              <button type="button" className="button" onClick={outOfReach.confirm}>
                Propose it anyway
              </button>
            </div>
          )}
          {request.drill && <DrillNotice request={request} />}
          <NotedCard
            request={request}
            actions={actions}
            allow={{ agent: request.agent, onAllow: allow }}
            remarks={request.status === 'pending' ? <RemarkNotes {...request} /> : <GrantNote request={request} />}
            headingLevel={2}
          />
          <PlanSteps request={request} />
          <UndoButton request={request} />
          <Disclosure title={request.status === 'pending' ? 'Conversation so far' : 'Conversation'} isOpen>
            <Conversation messages={request.messages} last={LAST_WORDS} />
          </Disclosure>
        </div>
      </div>
    </>
  );
}

/** Tells the decider, and readers of the history, that the request was a drill. */
function DrillNotice({ request }: { readonly request: RequestWithMessages }) {
  return (
    <p className="flex items-start gap-2 rounded-md bg-info-soft px-3 py-2 text-info">
      <Target aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      {drillWords(outcomeOf(request) ?? 'withdrawn')}
    </p>
  );
}

function Bar({ onBack, children }: { readonly onBack: () => void; readonly children?: ReactNode }) {
  return (
    <div className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line py-1.5 pr-4 pl-2 md:px-6">
      <button type="button" className="button-quiet md:hidden" onClick={onBack}>
        <ArrowLeft aria-hidden="true" className="size-5" />
        <span className="sr-only">Back to the list</span>
      </button>
      {children}
    </div>
  );
}

/** Who asks stands on the card. */
function Facts({ request: { runId, createdAt, grant, rule } }: { readonly request: RequestWithMessages }) {
  return (
    <p className="flex min-w-0 flex-1 items-center gap-1 text-xs text-muted">
      {createdAt !== null && (
        <>
          <span className="truncate">
            {rule || grant?.is === 'used' ? 'Ran ' : 'Asked '}
            <Ago at={createdAt} />
          </span>
          <span aria-hidden="true">·</span>
        </>
      )}
      <Link
        href={`/runs/${encodeURIComponent(runId)}`}
        className="inline-flex shrink-0 items-center underline underline-offset-2 hover:text-ink max-md:-my-2 max-md:min-h-11"
      >
        View run
      </Link>
    </p>
  );
}

/** After a decision the focused button disappears; this moves the focus to the heading. */
function useFocusKept(status: 'pending' | 'decided') {
  const place = useRef<HTMLDivElement>(null);
  const before = useRef(status);
  useEffect(() => {
    if (before.current === status) return;
    before.current = status;
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (isLost) place.current?.querySelector<HTMLElement>('[data-countersign="heading"]')?.focus();
  }, [status]);
  return place;
}

function sendByControlEnter(event: KeyboardEvent) {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  if (!(event.target instanceof Element)) return;
  // The note field stands beside its form.
  const isNote = event.target.matches('[data-note]');
  const form = isNote ? event.currentTarget.querySelector('form') : event.target.closest('form');
  form?.requestSubmit();
}
