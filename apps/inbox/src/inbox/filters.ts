// The filters of a list: kept in the address, so that a list can be shared and the way back finds it again.
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';

export type Filters = {
  readonly search: string;
  readonly outcome: string;
  readonly agent: string;
  readonly tool: string;
  readonly risk: string;
  readonly label: string;
  readonly kind: string;
  readonly age: string;
  readonly order: string;
  readonly mine: string;
};

export type ListStatus = 'pending' | 'settled';

export const NO_FILTERS: Filters = {
  search: '',
  outcome: '',
  agent: '',
  tool: '',
  risk: '',
  label: '',
  kind: '',
  age: '',
  order: '',
  mine: '',
};

const NAMES = Object.keys(NO_FILTERS) as (keyof Filters)[];

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Pending requests are filtered by minimum age, decided ones by maximum age. */
export const AGES = {
  pending: [
    { value: '1h', label: 'Over an hour old', ms: HOUR },
    { value: '1d', label: 'Over a day old', ms: 24 * HOUR },
    { value: '7d', label: 'Over a week old', ms: 7 * 24 * HOUR },
  ],
  settled: [
    { value: '1d', label: 'Last 24 hours', ms: 24 * HOUR },
    { value: '7d', label: 'Last 7 days', ms: 7 * 24 * HOUR },
    { value: '30d', label: 'Last 30 days', ms: 30 * 24 * HOUR },
  ],
} as const;

export type UseFilters = {
  readonly filters: Filters;
  readonly isFiltered: boolean;
  change(changed: Partial<Filters>): void;
  clear(): void;
};

export function useFilters(): UseFilters {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(
    () => Object.fromEntries(NAMES.map((name) => [name, params.get(name) ?? ''])) as Filters,
    [params],
  );
  return {
    filters,
    isFiltered: NAMES.some((name) => name !== 'order' && filters[name] !== ''),
    // A filter change adds no entry to the browser history.
    change: (changed) => setParams(asParams({ ...filters, ...changed }), { replace: true }),
    clear: () => setParams(asParams({ ...NO_FILTERS, order: filters.order }), { replace: true }),
  };
}

/** `?tool=pay&risk=high`, or nothing; for links that keep the filters. */
export function addressOf(filters: Filters): string {
  const entries = asParams(filters);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`;
}

function asParams(filters: Filters): [string, string][] {
  return NAMES.filter((name) => filters[name] !== '').map((name) => [name, filters[name]]);
}

/** What the server is asked. Ages are counted in whole minutes, so that the question stays the same for a while. */
export function queryFor(
  status: ListStatus,
  { age, order, outcome, ...filters }: Filters,
  now: number,
): { readonly [name: string]: string | undefined } {
  const oldest = AGES[status].find(({ value }) => value === age);
  const limit = oldest && `${Math.floor((now - oldest.ms) / MINUTE) * MINUTE}`;
  return {
    status,
    order: order || (status === 'pending' ? 'oldest' : 'newest'),
    ...Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')),
    // Pending requests have no outcome.
    ...(status === 'settled' && outcome !== '' && { outcome }),
    ...(limit !== undefined && { [status === 'pending' ? 'createdBefore' : 'createdAfter']: limit }),
  };
}
