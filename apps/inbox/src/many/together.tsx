// Several requests, decided together: their common fields, a table of the others, one reason, and each outcome.
import { inWords, ValueView, VisibleText } from '@countersign/react';
import { ArrowLeft, X } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { request } from '../api/request.ts';
import type { ApiRequest, DecisionOutcome } from '../api/wire.ts';
import { sectionsOf, type ToolSection, totalsOfRequests } from './comparison.ts';
import { DecideBar } from './decide-bar.tsx';
import { OutcomeNote } from './outcome-note.tsx';
import { RowList, RowTable } from './rows.tsx';
import { type Order, sortedSection } from './sorted-rows.ts';
import { Totals } from './totals.tsx';
import { type DecideTogether, useDecideTogether } from './use-decide-together.ts';
import { useIsWide } from './use-is-wide.ts';
import { MOST_SELECTED, type Selection } from './use-selection.ts';

type TogetherProps = {
  readonly selection: Selection;
  /** The current list. If it has another version of a selected request, that request has changed. */
  readonly listed: readonly ApiRequest[];
  readonly hrefOf: (id: string) => string;
  /** Goes back to the list and keeps the selection. */
  readonly onBack: () => void;
};

export function Together({ selection, listed, hrefOf, onBack }: TogetherProps) {
  const { items } = selection;
  const deciding = useDecideTogether();
  const sections = useMemo(() => sectionsOf(items), [items]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const changed = useMemo(() => changedSince(items, listed), [items, listed]);
  const open = items.filter(({ id }) => !isDone(deciding.outcomes.get(id)) && !changed.has(id));

  /** Loads the cards again. */
  async function lookAgain(ids: readonly string[]) {
    const fresh = await Promise.all(
      ids.map((id) => request<ApiRequest>(`requests/${encodeURIComponent(id)}`).catch(() => undefined)),
    );
    selection.add(fresh.filter((card) => card !== undefined));
    deciding.forget(ids);
  }

  return (
    <>
      <div className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line py-1.5 pr-4 pl-2 md:px-6">
        <button type="button" className="button-quiet md:hidden" onClick={onBack}>
          <ArrowLeft aria-hidden="true" className="size-5" />
          <span className="sr-only">Back to the list</span>
        </button>
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 truncate font-semibold">
          {items.length} {items.length === 1 ? 'request' : 'requests'} selected
        </h2>
        <button type="button" className="button" onClick={selection.clear}>
          <X aria-hidden="true" className="size-4" />
          Clear
        </button>
      </div>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
        <div className="mx-auto flex w-full max-w-5xl flex-1 flex-col gap-6 px-4 py-4 md:px-6 md:py-6">
          {items.length >= MOST_SELECTED && (
            <p className="text-muted">At most {MOST_SELECTED} can be decided together. Decide these first.</p>
          )}
          {sections.map((section) => (
            <Section
              key={section.key}
              section={section}
              deciding={deciding}
              changed={changed}
              hrefOf={hrefOf}
              onRemove={(request) => selection.toggle(request)}
              onLookAgain={(id) => void lookAgain([id])}
            />
          ))}
        </div>
      </div>
      {deciding.outcomes.size > 0 && !deciding.sending && open.length === 0 ? (
        <Done
          outcomes={items.flatMap(({ id }) => deciding.outcomes.get(id) ?? [])}
          stillOpen={items.filter(({ id }) => deciding.outcomes.get(id)?.status === 'outdated' || changed.has(id))}
          onLookAgain={(ids) => {
            selection.keepOnly(new Set(ids));
            void lookAgain(ids);
          }}
          onDone={selection.clear}
        />
      ) : (
        <DecideBar open={open} left={items.length - open.length} deciding={deciding} />
      )}
    </>
  );
}

/** Requests that have another card now than the one that was selected. */
function changedSince(items: readonly ApiRequest[], listed: readonly ApiRequest[]): ReadonlySet<string> {
  const now = new Map(listed.map(({ id, digest }) => [id, digest]));
  return new Set(items.filter(({ id, digest }) => (now.get(id) ?? digest) !== digest).map(({ id }) => id));
}

/** Sending it again would say the same. */
const isDone = (outcome: DecisionOutcome | undefined): boolean => outcome !== undefined && outcome.status !== 'failed';

type SectionProps = {
  readonly section: ToolSection;
  readonly deciding: DecideTogether;
  readonly changed: ReadonlySet<string>;
  readonly hrefOf: (id: string) => string;
  readonly onRemove: (request: ApiRequest) => void;
  readonly onLookAgain: (id: string) => void;
};

function Section({ section, deciding, changed, hrefOf, onRemove, onLookAgain }: SectionProps) {
  const { tool, agent, items, comparison } = section;
  const { common, columns } = comparison;
  const [order, setOrder] = useState<Order>();
  const totals = useMemo(() => totalsOfRequests(items), [items]);
  const Rows = useIsWide() ? RowTable : RowList;
  const noteOf = (request: ApiRequest) => (
    <OutcomeNote
      outcome={deciding.outcomes.get(request.id)}
      hasChanged={changed.has(request.id)}
      isSending={deciding.sending !== undefined}
      onLookAgain={() => onLookAgain(request.id)}
    />
  );
  return (
    <section aria-label={inWords(tool)} className="flex flex-col gap-3">
      <h3 className="flex items-baseline gap-2 text-base font-semibold">
        <VisibleText text={inWords(tool)} />
        <span className="text-sm font-normal text-muted tabular-nums">
          {items.length} · <VisibleText text={agent} />
        </span>
      </h3>
      <Totals totals={totals} items={items} hrefOf={hrefOf} />
      {common.length > 0 && (
        <div className="panel px-4 py-3">
          <p className="mb-1.5 text-xs font-medium text-muted">
            {items.length === 1 ? 'Input' : `The same in all ${items.length}`}
          </p>
          <dl className="grid grid-cols-[minmax(5rem,auto)_1fr] gap-x-4 gap-y-1">
            {common.map(({ name, value }) => (
              <div key={name} className="contents">
                <dt className="text-muted wrap-anywhere">
                  <VisibleText text={name} isName />
                </dt>
                <dd className="min-w-0 wrap-anywhere">
                  <ValueView value={value} />
                </dd>
              </div>
            ))}
          </dl>
        </div>
      )}
      {columns.length === 0 && items.length > 1 && (
        <p className="text-muted">Nothing differs: these requests would do the same {items.length} times.</p>
      )}
      <Rows
        section={sortedSection(section, order)}
        order={order}
        onOrder={setOrder}
        hrefOf={hrefOf}
        noteOf={noteOf}
        onRemove={(request) => (isDone(deciding.outcomes.get(request.id)) ? undefined : () => onRemove(request))}
        hasNotes={items.some(({ id }) => deciding.outcomes.has(id) || changed.has(id))}
        isLocked={deciding.sending !== undefined}
      />
    </section>
  );
}

type DoneProps = {
  readonly outcomes: readonly DecisionOutcome[];
  readonly stillOpen: readonly ApiRequest[];
  readonly onLookAgain: (ids: readonly string[]) => void;
  readonly onDone: () => void;
};

function Done({ outcomes, stillOpen, onLookAgain, onDone }: DoneProps) {
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-t border-line bg-surface px-4 py-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] md:px-6">
      <p role="status" className="min-w-48 flex-1">
        {summaryOf(outcomes)}
      </p>
      {stillOpen.length > 0 && (
        <button
          type="button"
          className="button max-md:flex-1"
          onClick={() => onLookAgain(stillOpen.map(({ id }) => id))}
        >
          Look at {stillOpen.length} again
        </button>
      )}
      <button type="button" className="button-primary max-md:flex-1" onClick={onDone}>
        Done
      </button>
    </div>
  );
}

const WORDS: Readonly<Record<DecisionOutcome['status'], string>> = {
  settled: 'decided',
  waiting: 'waiting for more votes',
  outdated: 'changed and still open',
  conflict: 'decided by someone else',
  'not-allowed': 'not yours to decide',
  invalid: 'refused',
  unknown: 'gone',
  failed: 'not sent',
};

/** “22 decided, 1 changed and still open.” */
function summaryOf(outcomes: readonly DecisionOutcome[]): string {
  const statuses = Object.keys(WORDS) as DecisionOutcome['status'][];
  const counts = statuses.map((status) => [status, outcomes.filter((one) => one.status === status).length] as const);
  const parts = counts.filter(([, count]) => count > 0).map(([status, count]) => `${count} ${WORDS[status]}`);
  return `${parts.join(', ')}.`;
}
