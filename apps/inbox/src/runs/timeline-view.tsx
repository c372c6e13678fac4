// The timeline of a run: a row for each step, which opens to its values and events; and a table with exact times.
import { inWords, titleOf, ValueView, VisibleText } from '@countersign/react';
import { Bot, ChevronRight, Flag, type LucideIcon, ShieldCheck, UserRound, Wrench } from 'lucide-react';
import { useId, useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { ApiRequest } from '../api/wire.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { useNow } from '../live/now.ts';
import { duration, Moment } from '../live/time.tsx';
import { EventList } from './event-list.tsx';
import { timeScale } from './time-scale.ts';
import type { Mark, Span, Step, Timeline } from './timeline.ts';
import { tokensText } from './tokens.tsx';

const SPAN_FILLS = { turn: 'fill-answered', wait: 'fill-waiting', work: 'fill-approved' } as const;
const MARK_FILLS = {
  said: 'fill-muted',
  approved: 'fill-approved',
  edited: 'fill-edited',
  rejected: 'fill-rejected',
  answered: 'fill-answered',
  cancelled: 'fill-cancelled',
  failed: 'fill-danger',
  ended: 'fill-ink',
} as const;
const MARK_TONES = {
  said: 'text-muted',
  approved: 'text-approved',
  edited: 'text-edited',
  rejected: 'text-rejected',
  answered: 'text-answered',
  cancelled: 'text-muted',
  failed: 'text-danger',
  ended: 'text-muted',
} as const;

/** As many as fit a screen. */
const STEPS_AT_FIRST = 25;

type TimelineViewProps = {
  readonly timeline: Timeline;
  readonly isOver: boolean;
  /** The requests of the run, whose sentences name their steps. */
  readonly requests: readonly ApiRequest[];
};

export function TimelineView({ timeline, isOver, requests }: TimelineViewProps) {
  const now = useNow();
  const [shown, setShown] = useState(STEPS_AT_FIRST);
  const end = isOver ? timeline.to : Math.max(now, timeline.to);
  const scale = useMemo(() => {
    const times = timeline.steps.flatMap(({ spans, marks }) => [
      ...spans.flatMap(({ from, to }) => [from, to ?? end]),
      ...marks.map(({ at }) => at),
    ]);
    return timeScale([timeline.from, ...times, end]);
  }, [timeline, end]);
  // Outside its run, a request is named by the run's id and its own.
  const asked = useMemo(
    () => new Map(requests.map((request) => [request.id.slice(request.runId.length + 1), request])),
    [requests],
  );
  return (
    <div className="flex flex-col gap-3">
      <figure className="panel overflow-hidden" aria-label="Timeline of the run">
        {timeline.steps.slice(0, shown).map((step) => (
          <StepView key={step.id} step={step} scale={scale} end={end} asked={asked} />
        ))}
        {timeline.steps.length > shown && (
          <button
            type="button"
            className="min-h-9 w-full border-b border-line -outline-offset-2 hover:bg-sunken"
            onClick={() => setShown(timeline.steps.length)}
          >
            Show all {timeline.steps.length} steps
          </button>
        )}
        <figcaption className="flex flex-wrap gap-x-4 gap-y-1 px-3 py-2 text-xs text-muted">
          <Key fill="bg-answered">Model</Key>
          <Key fill="bg-waiting">Waiting for approval</Key>
          <Key fill="bg-approved">Tool</Key>
          <span className="ml-auto">Total {duration(end - timeline.from)} (long waits compressed)</span>
        </figcaption>
      </figure>
      <Disclosure title="View as table">
        <StepTable timeline={timeline} end={end} />
      </Disclosure>
    </div>
  );
}

function Key({ fill, children }: { readonly fill: string; readonly children: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden="true" className={`h-2.5 w-4 rounded-sm forced-color-adjust-none ${fill}`} />
      {children}
    </span>
  );
}

type StepProps = {
  readonly step: Step;
  readonly scale: (at: number) => number;
  readonly end: number;
  readonly asked: ReadonlyMap<string, ApiRequest>;
};

const ICONS: Readonly<Record<Step['is'], LucideIcon>> = { message: UserRound, turn: Bot, call: Wrench, end: Flag };

function StepView({ step, scale, end, asked }: StepProps) {
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  const question = step.requests.map((id) => asked.get(id)).find((request) => request !== undefined);
  const Icon = question ? ShieldCheck : ICONS[step.is];
  const headline = question ? titleOf(question) : step.is === 'call' ? callTitle(step.name) : nameOf(step);
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={panel}
        onClick={() => setOpen(!isOpen)}
        className="grid w-full gap-x-4 px-3 py-1.5 text-left -outline-offset-2 hover:bg-sunken aria-expanded:bg-sunken sm:grid-cols-[15rem_1fr_4.5rem] sm:items-center"
      >
        <span className="flex min-w-0 items-center gap-2">
          <ChevronRight
            aria-hidden="true"
            className={`size-4 shrink-0 text-muted motion-safe:transition-transform ${isOpen ? 'rotate-90' : ''}`}
          />
          <Icon aria-hidden="true" className="size-4 shrink-0 text-muted" />
          <span className="flex min-w-0 flex-1 flex-col">
            <span className="truncate font-medium">
              <VisibleText text={headline} />
            </span>
            {step.is === 'call' && (
              <span className="truncate font-mono text-xs text-muted">
                <VisibleText text={step.name} />
              </span>
            )}
          </span>
          <span className="shrink-0 text-xs text-muted tabular-nums sm:hidden">{lengthOf(step, end)}</span>
        </span>
        <Bars step={step} scale={scale} end={end} />
        <span className="text-right text-xs text-muted tabular-nums max-sm:hidden">{lengthOf(step, end)}</span>
      </button>
      <Decisions marks={step.marks} />
      {isOpen && <Details id={panel} step={step} question={question} />}
    </div>
  );
}

/** The headline of a call without a request: its tool, without the sub-agents around it. */
const callTitle = (name: string): string => inWords(name.split(' › ').at(-1) ?? name);

function nameOf({ is, name, marks }: Step): string {
  return is === 'turn' ? `Model, ${name.toLowerCase()}` : is === 'end' ? (marks[0]?.title ?? name) : name;
}

function lengthOf({ spans }: Step, end: number): string {
  const [first] = spans;
  return first ? duration((spans.at(-1)?.to ?? end) - first.from) : '';
}

const HEIGHT = 26;
const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;

function Bars({ step, scale, end }: Omit<StepProps, 'asked'>) {
  return (
    <span className="block px-2">
      <svg aria-hidden="true" width="100%" height={HEIGHT} className="block overflow-visible">
        {step.spans.map((span) => (
          <SpanView key={`${span.is} ${span.from}`} span={span} scale={scale} end={end} />
        ))}
        {step.marks.map((mark) => (
          <g key={`${mark.is} ${mark.at}`}>
            <title>{mark.title}</title>
            <circle
              cx={percent(scale(mark.at))}
              cy={HEIGHT / 2}
              r={5}
              className={`${MARK_FILLS[mark.is]} stroke-surface`}
              strokeWidth={2}
            />
          </g>
        ))}
      </svg>
    </span>
  );
}

type SpanProps = Pick<StepProps, 'scale' | 'end'> & { readonly span: Span };

function SpanView({ span, scale, end }: SpanProps) {
  const [left, right] = [scale(span.from), scale(span.to ?? end)];
  const took = duration((span.to ?? end) - span.from);
  return (
    <g>
      <title>{`${span.title}: ${took}${span.to === null ? ' so far' : ''}`}</title>
      <rect
        x={percent(left)}
        y={(HEIGHT - 12) / 2}
        width={percent(Math.max(right - left, 0.004))}
        height={12}
        rx={3}
        className={SPAN_FILLS[span.is]}
        opacity={span.to === null ? 0.55 : 0.85}
      />
    </g>
  );
}

/** Who decided, then why, then the note: three lines. */
function Decisions({ marks }: { readonly marks: readonly Mark[] }) {
  const decided = marks.filter(({ is }) => !['said', 'ended'].includes(is));
  if (decided.length === 0) return null;
  return (
    <div className="flex flex-col gap-1.5 px-3 pb-2 text-xs sm:pl-[18rem]">
      {decided.map((mark) => (
        <div key={`${mark.is} ${mark.at}`}>
          <p className={`font-medium wrap-anywhere ${MARK_TONES[mark.is]}`}>
            <VisibleText text={mark.title} />
          </p>
          <Said name="Reason" text={mark.reason} />
          <Said name="Note" text={mark.note} />
        </div>
      ))}
    </div>
  );
}

function Said({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p className="text-muted wrap-anywhere">
      {name}: <VisibleText text={text} className="text-ink" />
    </p>
  );
}

type DetailsProps = { readonly id: string; readonly step: Step; readonly question: ApiRequest | undefined };

function Details({ id, step, question }: DetailsProps) {
  return (
    <div id={id} className="flex flex-col gap-4 border-t border-line bg-canvas px-4 py-4">
      {step.facts.map((fact, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the facts of a step only grow at their end.
        <div key={index} className="min-w-0">
          <p className="mb-1 text-xs font-medium text-muted">
            <VisibleText text={fact.name} />
          </p>
          <ValueView value={fact.value} />
        </div>
      ))}
      {step.usage && <p className="text-xs text-muted tabular-nums">{tokensText(step.usage)}</p>}
      {question && (
        <Link
          href={`/${question.status === 'pending' ? 'requests' : 'history'}/${encodeURIComponent(question.id)}`}
          className="button self-start"
        >
          View request
        </Link>
      )}
      <Disclosure title="Events" aside={`${step.events.length}`}>
        <EventList events={step.events} />
      </Disclosure>
    </div>
  );
}

type TableRow = {
  readonly name: string;
  readonly at: number;
  readonly title: string;
  readonly took: string;
  readonly reason?: string | undefined;
  readonly note?: string | undefined;
};

function StepTable({ timeline, end }: { readonly timeline: Timeline; readonly end: number }) {
  const rows: readonly TableRow[] = timeline.steps
    .flatMap(({ is, name, spans, marks }) => [
      ...spans.map(({ title, from, to }) => ({
        name: is === 'call' ? name : 'Conversation',
        at: from,
        title,
        took: `${duration((to ?? end) - from)}${to === null ? ' so far' : ''}`,
      })),
      ...marks.map(({ title, at, reason, note }) => ({
        name: is === 'call' ? name : 'Conversation',
        at,
        title,
        took: '',
        reason,
        note,
      })),
    ])
    .sort((a, b) => a.at - b.at);
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-left">
        <thead className="text-xs text-muted">
          <tr>
            {['When', 'Where', 'What', 'Duration'].map((title) => (
              <th key={title} scope="col" className="border-b border-line py-1.5 pr-4 font-medium">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, at, title, took, reason, note }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the steps of a run only grow at their end.
            <tr key={index} className="border-b border-line">
              <td className="py-1.5 pr-4 whitespace-nowrap tabular-nums">
                <Moment at={at} />
              </td>
              <td className="py-1.5 pr-4 font-mono text-xs">
                <VisibleText text={name} />
              </td>
              <td className="py-1.5 pr-4">
                <VisibleText text={title} />
                <Said name="Reason" text={reason} />
                <Said name="Note" text={note} />
              </td>
              <td className="py-1.5 whitespace-nowrap tabular-nums">{took}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
