// The filters of a list: kept in the address, so that a list can be shared and the way back finds it again.
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';

export type Filters = {
  /** `others`: what waits for others. Otherwise the list has what waits for the user. */
  readonly view: string;
  readonly search: string;
  readonly outcome: string;
  readonly decidedBy: string;
  readonly agent: string;
  readonly tool: string;
  readonly risk: string;
  readonly label: string;
  readonly kind: string;
  readonly age: string;
  /** Days, as `2026-01-31`, if `age` is `dates`. */
  readonly from: string;
  readonly until: string;
  readonly order: string;
  /** `asked` by the user, or `assigned` to them. */
  readonly mine: string;
};

export type ListStatus = 'pending' | 'settled';

export const NO_FILTERS: Filters = {
  view: '',
  search: '',
  outcome: '',
  decidedBy: '',
  agent: '',
  tool: '',
  risk: '',
  label: '',
  kind: '',
  age: '',
  from: '',
  until: '',
  order: '',
  mine: '',
};

const NAMES = Object.keys(NO_FILTERS) as (keyof Filters)[];

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Pending requests are filtered by minimum age since they were asked, decided ones by maximum age since they were decided. */
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
    { value: '90d', label: 'Last 90 days', ms: 90 * 24 * HOUR },
  ],
} as const;

/** The age of decided requests that two dates limit. */
export const DATES = 'dates';

/** They hide nothing of a list. */
const WHOLE_LIST: ReadonlySet<keyof Filters> = new Set(['order', 'view']);

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
    isFiltered: NAMES.some((name) => !WHOLE_LIST.has(name) && filters[name] !== ''),
    // A filter change adds no entry to the browser history.
    change: (changed) => setParams(asParams({ ...filters, ...changed }), { replace: true }),
    clear: () => setParams(asParams({ ...NO_FILTERS, order: filters.order, view: filters.view }), { replace: true }),
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
  { view, age, from, until, order, outcome, decidedBy, mine, ...filters }: Filters,
  now: number,
): Query {
  const oldest = AGES[status].find(({ value }) => value === age);
  const limit = oldest && `${Math.floor((now - oldest.ms) / MINUTE) * MINUTE}`;
  const isPending = status === 'pending';
  return {
    status,
    order: order || (isPending ? 'oldest' : 'newest'),
    ...Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')),
    ...(mine === 'asked' && { mine: '1' }),
    ...(isPending ? { for: view === 'others' ? 'others' : 'me' } : given({ outcome, decidedBy })),
    ...(isPending && mine === 'assigned' && { assignee: 'me' }),
    ...(limit !== undefined && { [isPending ? 'createdBefore' : 'settledSince']: limit }),
    ...(!isPending && age === DATES && datesOf(from, until)),
  };
}

export type Query = { readonly [name: string]: string | undefined };

const given = (values: Query): Query => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));

/** From the beginning of the first day to the end of the last, in the user's time zone. */
function datesOf(from: string, until: string): Query {
  const [first, last] = [startOf(from, 0), startOf(until, 1)];
  return {
    ...(first !== undefined && { settledSince: `${first}` }),
    ...(last !== undefined && { settledBefore: `${last}` }),
  };
}

function startOf(date: string, daysLater: number): number | undefined {
  const [, year, month, day] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(date) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const at = new Date(year, month - 1, day + daysLater).getTime();
  return at > 0 ? at : undefined;
}
