// The timeline of a run as a chart, and as a table for screen readers and exact numbers.
import { VisibleText } from '@countersign/react';
import { useMemo, useState } from 'react';
import { Disclosure } from '../frame/disclosure.tsx';
import { useNow } from '../live/now.ts';
import { duration, Moment } from '../live/time.tsx';
import { timeScale } from './time-scale.ts';
import type { Lane, Mark, Span, Timeline } from './timeline.ts';

const SPAN_FILLS = { turn: 'fill-answered', wait: 'fill-waiting', work: 'fill-approved' } as const;
const MARK_FILLS = {
  said: 'fill-muted',
  approved: 'fill-approved',
  rejected: 'fill-rejected',
  answered: 'fill-answered',
  cancelled: 'fill-cancelled',
  failed: 'fill-danger',
  ended: 'fill-ink',
} as const;

/** The conversation, and as many calls as fit a screen. */
const LANES_AT_FIRST = 21;

type TimelineViewProps = { readonly timeline: Timeline; readonly isOver: boolean };

export function TimelineView({ timeline, isOver }: TimelineViewProps) {
  const now = useNow();
  const [shown, setShown] = useState(LANES_AT_FIRST);
  const end = isOver ? timeline.to : Math.max(now, timeline.to);
  const scale = useMemo(() => {
    const times = timeline.lanes.flatMap(({ spans, marks }) => [
      ...spans.flatMap(({ from, to }) => [from, to ?? end]),
      ...marks.map(({ at }) => at),
    ]);
    return timeScale([timeline.from, ...times, end]);
  }, [timeline, end]);
  return (
    <div className="flex flex-col gap-3">
      <figure className="panel overflow-hidden" aria-label="Timeline of the run">
        {timeline.lanes.slice(0, shown).map((lane) => (
          <LaneView key={lane.id} lane={lane} scale={scale} end={end} />
        ))}
        {timeline.lanes.length > shown && (
          <button
            type="button"
            className="w-full border-t border-line py-2 -outline-offset-2 hover:bg-sunken"
            onClick={() => setShown(timeline.lanes.length)}
          >
            Show all {timeline.lanes.length - 1} calls
          </button>
        )}
        <figcaption className="flex flex-wrap gap-x-4 gap-y-1 border-t border-line px-3 py-2 text-xs text-muted">
          <Key fill="bg-answered">Model</Key>
          <Key fill="bg-waiting">Waiting for approval</Key>
          <Key fill="bg-approved">Tool</Key>
          <span className="ml-auto">Total {duration(end - timeline.from)} (long waits compressed)</span>
        </figcaption>
      </figure>
      <Disclosure title="View as table">
        <Steps timeline={timeline} end={end} />
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

type LaneProps = { readonly lane: Lane; readonly scale: (at: number) => number; readonly end: number };

const HEIGHT = 44;
const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;

function LaneView({ lane, scale, end }: LaneProps) {
  return (
    <div className="grid border-b border-line last:border-b-0 sm:grid-cols-[11rem_1fr]">
      <p className="truncate px-3 pt-2 font-mono text-xs text-muted sm:self-center sm:py-2" title={lane.name}>
        <VisibleText text={lane.name} />
      </p>
      <div className="px-4 sm:border-l sm:border-line">
        <svg aria-hidden="true" width="100%" height={HEIGHT} className="block overflow-visible">
          {lane.spans.map((span) => (
            <SpanView key={`${span.is} ${span.from}`} span={span} scale={scale} end={end} />
          ))}
          {lane.marks.map((mark) => (
            <g key={`${mark.is} ${mark.at}`}>
              <title>{mark.title}</title>
              <circle
                cx={percent(scale(mark.at))}
                cy={22}
                r={6}
                className={`${MARK_FILLS[mark.is]} stroke-surface`}
                strokeWidth={2}
              />
            </g>
          ))}
        </svg>
        {lane.marks.map(
          ({ title, at, note }) =>
            note !== undefined && (
              <p key={`note ${at}`} className="pb-2 text-xs text-muted wrap-anywhere">
                <VisibleText text={title} />: <VisibleText text={note} className="text-ink italic" />
              </p>
            ),
        )}
      </div>
    </div>
  );
}

const LABEL_FITS = 0.12;

function SpanView({ span, scale, end }: { readonly span: Span } & Omit<LaneProps, 'lane'>) {
  const [left, right] = [scale(span.from), scale(span.to ?? end)];
  const took = duration((span.to ?? end) - span.from);
  return (
    <g>
      <title>{`${span.title}: ${took}${span.to === null ? ' so far' : ''}`}</title>
      <rect
        x={percent(left)}
        y={14}
        width={percent(Math.max(right - left, 0.004))}
        height={16}
        rx={3}
        className={SPAN_FILLS[span.is]}
        opacity={span.to === null ? 0.55 : 0.85}
      />
      {right - left > LABEL_FITS && (
        <text
          x={percent((left + right) / 2)}
          y={41}
          textAnchor="middle"
          className="fill-muted text-[10px] tabular-nums"
        >
          {took}
        </text>
      )}
    </g>
  );
}

type Step = {
  readonly name: string;
  readonly at: number;
  readonly title: string;
  readonly took: string;
  readonly note?: string | undefined;
};

function Steps({ timeline, end }: { readonly timeline: Timeline; readonly end: number }) {
  const steps: readonly Step[] = timeline.lanes
    .flatMap(({ name, spans, marks }) => [
      ...spans.map(({ title, from, to }) => ({
        name,
        at: from,
        title,
        took: `${duration((to ?? end) - from)}${to === null ? ' so far' : ''}`,
      })),
      ...marks.map(({ title, at, note }: Mark) => ({ name, at, title, took: '', note })),
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
          {steps.map(({ name, at, title, took, note }, index) => (
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
                {note !== undefined && (
                  <span className="block text-muted italic wrap-anywhere">
                    <VisibleText text={note} />
                  </span>
                )}
              </td>
              <td className="py-1.5 whitespace-nowrap tabular-nums">{took}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
