// One run: its timeline, pending requests, conversation, and recorded events.
import { People, PersonName, VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Names, personText } from 'countersign/request';
import { ArrowLeft, Ban, MessageSquare, RotateCcw, ShieldCheck } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { eventsQuery, runNamesQuery, runQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import type { Run, RunEvent } from '../api/wire.ts';
import { Conversation } from '../conversation/conversation.tsx';
import { Disclosure } from '../frame/disclosure.tsx';
import { Loading, Trouble } from '../frame/placeholders.tsx';
import { isPlan, PlanSteps } from '../inbox/plan-steps.tsx';
import { RequestRow } from '../inbox/request-row.tsx';
import { Ago, duration } from '../live/time.tsx';
import { showToast } from '../primitives/toasts.tsx';
import { EventList } from './event-list.tsx';
import { isOver, StatusMark } from './run-status.tsx';
import { timelineOf } from './timeline.ts';
import { TimelineView } from './timeline-view.tsx';
import { Tokens } from './tokens.tsx';

export default function RunPage({ id }: { readonly id: string }) {
  const run = useQuery(runQuery(id));
  const events = useQuery(eventsQuery(id));
  const names = useQuery(runNamesQuery(id));
  return (
    <People names={names.data}>
      <Top id={id} run={run.data} />
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        {run.data ? (
          <Body
            run={run.data}
            names={names.data}
            events={events.data}
            eventsError={events.error}
            onRetry={() => void events.refetch()}
          />
        ) : run.error ? (
          <Trouble error={run.error} what="This run" onRetry={() => void run.refetch()}>
            <Link href="/runs" className="button">
              All runs
            </Link>
          </Trouble>
        ) : (
          <div className="p-6">
            <Loading what="the run" />
          </div>
        )}
      </div>
    </People>
  );
}

function Top({ id, run }: { readonly id: string; readonly run: Run | undefined }) {
  return (
    <div className="flex min-h-13 shrink-0 flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-2 py-2 md:px-6">
      <Link href="/runs" className="button-quiet">
        <ArrowLeft aria-hidden="true" className="size-5" />
        <span className="sr-only">All runs</span>
      </Link>
      <div className="min-w-0 flex-1 max-sm:basis-4/5">
        <h1 className="truncate text-base font-semibold tracking-tight">
          <VisibleText text={run?.title ?? run?.agent ?? 'Run'} />
        </h1>
        <p className="truncate text-xs text-muted">
          {run?.title && (
            <>
              <VisibleText text={run.agent} />
              {' · '}
            </>
          )}
          <VisibleText text={id} className="font-mono" />
        </p>
      </div>
      {run && <RunActions run={run} />}
    </div>
  );
}

function RunActions({ run }: { readonly run: Run }) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (how: 'cancel' | 'drive') =>
      request<Run>(`runs/${encodeURIComponent(run.id)}/${how}`, { method: 'POST', body: {} }),
    onSuccess: (_, how) => showToast('done', how === 'cancel' ? 'Run cancelled.' : 'Run resumed.'),
    onError: (error) => showToast('trouble', error.message),
    onSettled: () =>
      client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === 'events' || queryKey[0] === 'run' }),
  });
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:w-full max-sm:pl-2">
      <span className="max-sm:mr-auto">
        <StatusMark status={run.status} failures={run.failures} />
      </span>
      <Link href={`/chat/${encodeURIComponent(run.agent)}/${encodeURIComponent(run.id)}`} className="button">
        <MessageSquare aria-hidden="true" className="size-4" />
        Open chat
      </Link>
      {run.status === 'failed' && (
        <button type="button" className="button" onClick={() => !change.isPending && change.mutate('drive')}>
          <RotateCcw aria-hidden="true" className="size-4" />
          Resume run
        </button>
      )}
      {!isOver(run) && <CancelButton onCancel={() => !change.isPending && change.mutate('cancel')} />}
    </div>
  );
}

/** Cancelling cannot be undone, so it takes a second click in another place. */
function CancelButton({ onCancel }: { readonly onCancel: () => void }) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking)
    return (
      <button type="button" className="button text-danger" onClick={() => setAsking(true)}>
        <Ban aria-hidden="true" className="size-4" />
        Cancel run
      </button>
    );
  return (
    <>
      <button type="button" className="button border-danger text-danger" onClick={onCancel}>
        Yes, cancel the run
      </button>
      {/* biome-ignore lint/a11y/noAutofocus: it stands where the button was that had the focus. */}
      <button type="button" autoFocus className="button" onClick={() => setAsking(false)}>
        Keep running
      </button>
    </>
  );
}

const ENDINGS: Readonly<Record<string, string>> = {
  stop: 'completed',
  length: 'the reply was cut at its length limit',
  blocked: 'the provider blocked the reply',
  'max-turns': 'stopped at the turn limit',
  aborted: 'cancelled',
  error: 'failed',
};

const endingOf = (reason: string): string => ENDINGS[reason] ?? reason;

type BodyProps = {
  readonly run: Run;
  readonly names: Names | undefined;
  readonly events: readonly RunEvent[] | undefined;
  readonly eventsError: Error | null;
  readonly onRetry: () => void;
};

function Body({ run, names, events, eventsError, onRetry }: BodyProps) {
  const timeline = useMemo(() => events && timelineOf(events, (id) => personText(id, names)), [events, names]);
  const waiting = run.requests.filter(({ status }) => status === 'pending');
  return (
    <div className="mx-auto flex w-full max-w-4xl flex-col gap-6 px-4 py-5 md:px-6">
      <p className="text-muted">
        Started <Ago at={run.createdAt} />
        {run.startedBy !== null && (
          <>
            {' by '}
            <PersonName id={run.startedBy} withId />
          </>
        )}
        {isOver(run) && ` · took ${duration(Math.max(run.updatedAt - run.createdAt, 0))}`}
        {run.finishReason !== null && ` · ${endingOf(run.finishReason)}`}
        {run.usage && (
          <>
            {' · '}
            <Tokens usage={run.usage} />
          </>
        )}
      </p>
      {run.error && (
        <p role="alert" className="rounded-md bg-danger-soft px-3 py-2 text-danger wrap-anywhere">
          <VisibleText text={run.error.message} />
        </p>
      )}
      {waiting.length > 0 && (
        <section aria-labelledby="run-waiting">
          <h2 id="run-waiting" className="mb-2 font-semibold">
            Waiting for approval
          </h2>
          <ul className="panel overflow-hidden [&>li:last-child]:border-b-0">
            {waiting.map((request) => (
              <RequestRow
                key={request.id}
                request={request}
                href={`/requests/${encodeURIComponent(request.id)}`}
                isOpen={false}
              />
            ))}
          </ul>
        </section>
      )}
      {run.requests.filter(isPlan).map((request) => (
        <PlanSteps key={request.id} request={request} linksToRequest />
      ))}
      <section aria-labelledby="run-timeline">
        <h2 id="run-timeline" className="mb-2 font-semibold">
          Timeline
        </h2>
        {timeline ? (
          <TimelineView timeline={timeline} isOver={isOver(run)} requests={run.requests} />
        ) : eventsError ? (
          <Trouble error={eventsError} what="The events" onRetry={onRetry} />
        ) : events ? (
          <p className="text-muted">No timing was recorded.</p>
        ) : (
          <Loading what="the timeline" rows={2} />
        )}
      </section>
      <section aria-labelledby="run-conversation">
        <h2 id="run-conversation" className="mb-3 font-semibold">
          Conversation
        </h2>
        <Conversation messages={run.messages} />
      </section>
      <section aria-label="Record">
        <Disclosure title="Recorded events" aside={events && `${events.length}`}>
          <Verification runId={run.id} />
          <EventList events={events ?? []} />
        </Disclosure>
      </section>
    </div>
  );
}

type Verified = { readonly ok: boolean; readonly events: number; readonly problem: string | null };

/** Each event is bound to those before it; the server can tell whether one was changed. */
function Verification({ runId }: { readonly runId: string }) {
  const verify = useMutation({
    mutationFn: () => request<Verified>(`runs/${encodeURIComponent(runId)}/verify`),
  });
  return (
    <div className="mb-3 flex flex-wrap items-center gap-3">
      <button type="button" className="button" onClick={() => !verify.isPending && verify.mutate()}>
        <ShieldCheck aria-hidden="true" className="size-4" />
        Verify record
      </button>
      <output className={verify.data?.ok === false || verify.error ? 'text-danger' : 'text-muted'}>
        {verify.error?.message}
        {verify.data &&
          (verify.data.ok
            ? `Record verified: ${verify.data.events} events.`
            : `Record does not verify: ${verify.data.problem ?? ''}`)}
      </output>
    </div>
  );
}
