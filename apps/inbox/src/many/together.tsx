// Several requests, decided together: their common fields, a table of the others, one reason, and each outcome.
import { inWords, ValueView, VisibleText } from '@countersign/react';
import { ArrowLeft, X } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { request } from '../api/request.ts';
import type { ApiRequest, DecisionOutcome } from '../api/wire.ts';
import { sectionsOf, type ToolSection } from './comparison.ts';
import { OutcomeNote } from './outcome-note.tsx';
import { RowList, RowTable } from './rows.tsx';
import { type DecideTogether, useDecideTogether, type Verb } from './use-decide-together.ts';
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
        <Decide open={open} left={items.length - open.length} deciding={deciding} />
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
        section={section}
        hrefOf={hrefOf}
        noteOf={noteOf}
        onRemove={(request) => (isDone(deciding.outcomes.get(request.id)) ? undefined : () => onRemove(request))}
        hasNotes={items.some(({ id }) => deciding.outcomes.has(id) || changed.has(id))}
        isLocked={deciding.sending !== undefined}
      />
    </section>
  );
}

type DecideProps = {
  readonly open: readonly ApiRequest[];
  /** How many of the selected are not part of it: changed, or decided. */
  readonly left: number;
  readonly deciding: DecideTogether;
};

function Decide({ open, left, deciding }: DecideProps) {
  const [reason, setReason] = useState('');
  const { sending, failure } = deciding;
  const cannot = (verb: Verb) => open.filter(({ allows }) => !allows.includes(verb)).length;
  const act = (verb: Verb) => {
    if (!sending && open.length > 0 && cannot(verb) === 0) void deciding.send(verb, open, reason.trim());
  };
  return (
    <form
      className="flex shrink-0 flex-col gap-2 border-t border-line bg-surface px-4 py-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] md:px-6"
      onSubmit={(event) => event.preventDefault()}
    >
      {failure && (
        <p role="alert" className="text-danger">
          <VisibleText text={`${failure.message} The rest was not sent; you can send it again.`} />
        </p>
      )}
      <p role="status" className="text-muted tabular-nums empty:hidden">
        {sending && `${sending.done} of ${sending.total} done…`}
        {!sending && left > 0 && `${left} of the selected will not be sent: see the table.`}
        {!sending &&
          cannot('approve') > 0 &&
          ` ${cannot('approve')} must be answered one by one and cannot be approved here.`}
      </p>
      {sending && (
        <progress className="h-1.5 w-full accent-accent" max={sending.total} value={sending.done}>
          {sending.done}
        </progress>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <label className="flex min-w-48 flex-1 flex-col gap-1 max-md:basis-full">
          <span className="text-xs text-muted">Reason for all (the model sees it only if you reject)</span>
          <input
            className="field w-full"
            maxLength={10_000}
            value={reason}
            readOnly={sending !== undefined}
            onChange={({ target }) => setReason(target.value)}
          />
        </label>
        <button
          type="button"
          className="button max-md:flex-1"
          aria-disabled={sending !== undefined || open.length === 0 || cannot('reject') > 0}
          onClick={() => act('reject')}
        >
          Reject {open.length}
        </button>
        <button
          type="button"
          className="button-primary max-md:flex-1"
          aria-disabled={sending !== undefined || open.length === 0 || cannot('approve') > 0}
          onClick={() => act('approve')}
        >
          Approve {open.length}
        </button>
      </div>
    </form>
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
