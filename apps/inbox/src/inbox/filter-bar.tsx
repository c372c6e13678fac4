// Search and filters above a list.
import { useQuery } from '@tanstack/react-query';
import { ListFilter, Search } from 'lucide-react';
import { type RefObject, useEffect, useId, useRef, useState } from 'react';
import { agentsQuery } from '../api/queries.ts';
import type { AgentInfo, Interrupt } from '../api/wire.ts';
import { AGES, type Filters, type ListStatus, type UseFilters } from './filters.ts';

type FilterBarProps = {
  readonly status: ListStatus;
  readonly use: UseFilters;
  readonly search: RefObject<HTMLInputElement | null>;
  /** The listed requests; their labels are suggested. */
  readonly items: readonly Interrupt[];
};

export function FilterBar({ status, use, search, items }: FilterBarProps) {
  const { filters, isFiltered, change, clear } = use;
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  const set = (name: keyof Filters) => (value: string) => change({ [name]: value });
  const { data: agents } = useQuery(agentsQuery);
  const known = agents?.items ?? [];
  return (
    <div className="flex shrink-0 flex-col gap-2 border-b border-line p-3">
      <div className="flex gap-2">
        <SearchField input={search} value={filters.search} onChange={set('search')} />
        <button
          type="button"
          className="button"
          aria-expanded={isOpen}
          aria-controls={panel}
          onClick={() => setOpen(!isOpen)}
        >
          <ListFilter aria-hidden="true" className="size-4" />
          Filter
          {isFiltered && <span aria-hidden="true" className="size-1.5 rounded-full bg-accent" />}
          {isFiltered && <span className="sr-only"> (active)</span>}
        </button>
      </div>
      <div id={panel} hidden={!isOpen} className="grid grid-cols-2 gap-2">
        {status === 'settled' && (
          <div className="col-span-2">
            <Choice
              label="Outcome"
              any="Any outcome"
              value={filters.outcome}
              onChange={set('outcome')}
              options={OUTCOMES}
            />
          </div>
        )}
        <Choice
          label="Agent"
          any="Any agent"
          value={filters.agent}
          onChange={set('agent')}
          options={known.map(named)}
        />
        <Choice
          label="Tool"
          any="Any tool"
          value={filters.tool}
          onChange={set('tool')}
          options={toolsOf(known, filters.agent)}
        />
        <Choice label="Risk" any="Any risk" value={filters.risk} onChange={set('risk')} options={RISKS} />
        <Choice label="Kind" any="Any kind" value={filters.kind} onChange={set('kind')} options={KINDS} />
        <Choice label="Age" any="Any age" value={filters.age} onChange={set('age')} options={AGES[status]} />
        <Choice
          label="Order"
          any={status === 'pending' ? 'Oldest first' : 'Newest first'}
          value={filters.order}
          onChange={set('order')}
          options={status === 'pending' ? NEWEST : OLDEST}
        />
        <LabelField value={filters.label} onChange={set('label')} known={items.flatMap(({ labels }) => labels)} />
        <label className="flex h-8 items-center gap-2">
          <input
            type="checkbox"
            checked={filters.mine === '1'}
            onChange={({ target }) => set('mine')(target.checked ? '1' : '')}
          />
          Only mine
        </label>
        {isFiltered && (
          <button type="button" className="button col-span-2" onClick={clear}>
            Clear filters
          </button>
        )}
      </div>
    </div>
  );
}

type Option = { readonly value: string; readonly label: string };

const OUTCOMES: readonly Option[] = [
  { value: 'approved', label: 'Approved' },
  { value: 'edited', label: 'Approved with changes' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'answered', label: 'Answered' },
  { value: 'cancelled', label: 'Cancelled or withdrawn' },
  { value: 'expired', label: 'Expired' },
];
const RISKS: readonly Option[] = [
  { value: 'high', label: 'High' },
  { value: 'medium', label: 'Medium' },
  { value: 'low', label: 'Low' },
];
const KINDS: readonly Option[] = [
  { value: 'approval', label: 'Approval' },
  { value: 'question', label: 'Question' },
  { value: 'interrupt', label: 'Asked by the tool' },
  { value: 'unknown-outcome', label: 'Unknown outcome' },
  { value: 'unavailable', label: 'Cannot run' },
];
const NEWEST: readonly Option[] = [{ value: 'newest', label: 'Newest first' }];
const OLDEST: readonly Option[] = [{ value: 'oldest', label: 'Oldest first' }];

const named = ({ name }: { readonly name: string }): Option => ({ value: name, label: name });

function toolsOf(agents: readonly AgentInfo[], agent: string): readonly Option[] {
  const chosen = agents.filter(({ name }) => agent === '' || name === agent);
  const names = chosen.flatMap(({ tools }) => tools.filter(({ asks }) => asks !== 'never').map(({ name }) => name));
  return [...new Set(names)].sort().map((name) => named({ name }));
}

type ChoiceProps = {
  readonly label: string;
  readonly any: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly Option[];
};

function Choice({ label, any, value, onChange, options }: ChoiceProps) {
  // A link may carry a filter value that is not in the options; it is still shown.
  const unknown = value !== '' && !options.some((option) => option.value === value);
  return (
    <select
      aria-label={label}
      className="field w-full min-w-0"
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{any}</option>
      {unknown && <option value={value}>{value}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

const TYPED_MS = 250;

/** Searches when the user stops typing. */
function useTyped(value: string, onChange: (value: string) => void) {
  const [typed, setTyped] = useState(value);
  const [settled, setSettled] = useState(value);
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  // Changed from outside, as by “Clear filters”.
  if (value !== settled) {
    setSettled(value);
    // Keep a trailing space: the user may still be typing.
    if (typed.trim() !== value) setTyped(value);
  }
  useEffect(() => {
    if (typed.trim() === settled) return;
    const timer = setTimeout(() => latest.current(typed.trim()), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed, settled]);
  return [typed, setTyped] as const;
}

type TypedProps = { readonly value: string; readonly onChange: (value: string) => void };

function SearchField({ input, value, onChange }: TypedProps & { readonly input: RefObject<HTMLInputElement | null> }) {
  const [typed, setTyped] = useTyped(value, onChange);
  return (
    <div className="relative min-w-0 flex-1">
      <Search aria-hidden="true" className="pointer-events-none absolute top-2 left-2.5 size-4 text-muted" />
      <input
        ref={input}
        type="search"
        aria-label="Search"
        placeholder="Search"
        maxLength={200}
        className="field w-full pl-8"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </div>
  );
}

function LabelField({ value, onChange, known }: TypedProps & { readonly known: readonly string[] }) {
  const [typed, setTyped] = useTyped(value, onChange);
  const list = useId();
  return (
    <>
      <input
        aria-label="Label"
        placeholder="Any label"
        maxLength={200}
        list={list}
        className="field w-full min-w-0"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
      <datalist id={list}>
        {[...new Set(known)].sort().map((label) => (
          <option key={label} value={label} />
        ))}
      </datalist>
    </>
  );
}
