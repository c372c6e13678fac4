// Search and filters above a list: each filter is a chip with a menu.
import { Menu } from '@base-ui/react/menu';
import { useQuery } from '@tanstack/react-query';
import { ArrowUpDown, ChevronDown, ChevronRight, ListFilter, Search, X } from 'lucide-react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { agentsQuery, meQuery } from '../api/queries.ts';
import type { ApiRequest } from '../api/wire.ts';
import { ChoiceMenu, Choices, Popup } from '../primitives/choice-menu.tsx';
import { chosenOf, type Facet, facetsOf, NEEDS_ME, ORDERS } from './facets.ts';
import { DATES, type Filters, type ListStatus, type UseFilters } from './filters.ts';

type FilterBarProps = {
  readonly status: ListStatus;
  readonly use: UseFilters;
  readonly search: RefObject<HTMLInputElement | null>;
  /** The listed requests; their labels can be filtered by. */
  readonly items: readonly ApiRequest[];
};

export function FilterBar({ status, use, search, items }: FilterBarProps) {
  const { filters, isFiltered, clear } = use;
  // What needs the user's decision is a list of its own.
  const change = (changed: Partial<Filters>) =>
    use.change(changed.mine === NEEDS_ME ? { mine: '', view: '' } : changed);
  const { data: agents } = useQuery(agentsQuery);
  const { data: me } = useQuery(meQuery);
  const facets = facetsOf(status, filters, { agents: agents?.items ?? [], items, me: me?.id });
  const active = facets.filter(({ name }) => filters[name] !== '');
  const orders = ORDERS[status];
  return (
    <div className="flex shrink-0 flex-col gap-2 border-b border-line p-3">
      <div className="flex gap-2">
        <SearchField input={search} value={filters.search} onChange={(value) => change({ search: value })} />
        <ChoiceMenu
          label="Order"
          value={filters.order || orders[0].value}
          choices={orders}
          onChange={(order) => change({ order: order === orders[0].value ? '' : order })}
          className="button px-2 max-md:w-11"
        >
          <ArrowUpDown aria-hidden="true" className="size-4" />
        </ChoiceMenu>
      </div>
      <div className="flex flex-wrap items-center gap-1.5">
        <AddFilter facets={facets} filters={filters} onChange={change} />
        {active.map((facet) => (
          <FilterChip
            key={facet.name}
            facet={facet}
            value={filters[facet.name]}
            onChange={(value) => change({ [facet.name]: value })}
          />
        ))}
        {isFiltered && (
          <button type="button" className="h-7 px-1.5 text-xs text-muted hover:text-ink max-md:h-11" onClick={clear}>
            Clear filters
          </button>
        )}
      </div>
      {status === 'settled' && filters.age === DATES && <Dates filters={filters} onChange={change} />}
    </div>
  );
}

type AddFilterProps = {
  readonly facets: readonly Facet[];
  readonly filters: Filters;
  readonly onChange: (changed: Partial<Filters>) => void;
};

function AddFilter({ facets, filters, onChange }: AddFilterProps) {
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="filter-chip">
        <ListFilter aria-hidden="true" className="size-3.5" />
        Filter
      </Menu.Trigger>
      <Popup>
        {facets.map(({ name, label, choices }) => (
          <Menu.SubmenuRoot key={name}>
            <Menu.SubmenuTrigger className="menu-item">
              {label}
              <ChevronRight aria-hidden="true" className="ml-auto size-4 text-muted" />
            </Menu.SubmenuTrigger>
            <Popup side="inline-end">
              <Choices
                label={label}
                value={chosenOf(name, filters)}
                choices={choices}
                onChange={(value) => onChange({ [name]: value })}
              />
            </Popup>
          </Menu.SubmenuRoot>
        ))}
      </Popup>
    </Menu.Root>
  );
}

/** The first and the last day of a period, both included. */
function Dates({ filters, onChange }: Omit<AddFilterProps, 'facets'>) {
  const days = [
    { name: 'from', label: 'From', rest: { max: filters.until } },
    { name: 'until', label: 'Until', rest: { min: filters.from } },
  ] as const;
  return (
    <div className="grid grid-cols-2 gap-2">
      {days.map(({ name, label, rest }) => (
        <label key={name} className="flex min-w-0 flex-col gap-1 text-xs text-muted">
          {label}
          <input
            type="date"
            className="field w-full px-2"
            value={filters[name]}
            {...rest}
            onChange={({ target }) => onChange({ [name]: target.value })}
          />
        </label>
      ))}
    </div>
  );
}

type FilterChipProps = {
  readonly facet: Facet;
  readonly value: string;
  readonly onChange: (value: string) => void;
};

/** An active filter: its menu changes it, the cross removes it. */
function FilterChip({ facet: { label, choices }, value, onChange }: FilterChipProps) {
  const chosen = choices.find((choice) => choice.value === value);
  return (
    <span className="inline-flex max-w-full items-center">
      <ChoiceMenu
        label={label}
        value={value}
        choices={choices}
        onChange={onChange}
        isActive
        className="filter-chip rounded-r-none border-r-0 pr-1"
      >
        <span className="truncate">
          {label}: {chosen?.label ?? value}
        </span>
        <ChevronDown aria-hidden="true" className="size-3 shrink-0" />
      </ChoiceMenu>
      <button
        type="button"
        data-active="true"
        className="filter-chip rounded-l-none pr-1.5 pl-1"
        onClick={() => onChange('')}
      >
        <X aria-hidden="true" className="size-3.5" />
        <span className="sr-only">Remove the filter {label}</span>
      </button>
    </span>
  );
}

const TYPED_MS = 250;

/** Searches when the user stops typing. */
export function useTyped(value: string, onChange: (value: string) => void) {
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

type SearchFieldProps = {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly input?: RefObject<HTMLInputElement | null>;
  readonly placeholder?: string;
};

export function SearchField({ input, value, onChange, placeholder = 'Search' }: SearchFieldProps) {
  const [typed, setTyped] = useTyped(value, onChange);
  return (
    <div className="relative min-w-0 flex-1">
      <Search
        aria-hidden="true"
        className="pointer-events-none absolute top-2 left-2.5 size-4 text-muted max-md:top-3.5"
      />
      <input
        ref={input}
        type="search"
        aria-label="Search"
        placeholder={placeholder}
        maxLength={200}
        className="field w-full pl-8"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </div>
  );
}
