// Reads the settled requests of a period, and shares them between callers for a few seconds. What was read stays for a while: later
// reads add what was settled since.
import type { Countersign } from 'countersign';
import { internalsOf } from 'countersign/store';
import { defined } from '../defined.ts';
import { cachedReads } from '../live/cached-read.ts';
import type { Insights } from '../schemas/insights.ts';
import { figuresOf, type Selection } from './figures.ts';
import { type SettledRequest, settledRequest } from './settled-request.ts';

/** Of how many days in UTC, including today, and of whose runs. */
export type Period = { readonly days: number; readonly startedBy?: string };

/** `isComplete` is false if there were more requests than are read. Then these are the newest, settled since `since`. */
export type SettledRequests = {
  /** The newest settlement first. */
  readonly requests: readonly SettledRequest[];
  readonly since: number;
  readonly isComplete: boolean;
  /** The days of the period. */
  readonly days: readonly string[];
  /** The grants that were given in the period or are active. Callers who see only their own runs see none. */
  readonly grants: Insights['grants'];
  /** When all of them were read, and when the newest of them were. */
  readonly readAt: { readonly all: number; readonly newest: number };
};

/** What to count: 30 days by default. */
export type InsightSelection = {
  readonly [name in keyof (Period & Selection)]?: (Period & Selection)[name] | undefined;
};

export async function insightsOf(
  read: (period: Period) => Promise<SettledRequests>,
  { days = 30, startedBy, ...selection }: InsightSelection,
): Promise<Insights> {
  const { requests, since, isComplete, days: dates, grants } = await read(defined({ days, startedBy }));
  const { tool, person } = selection;
  const isSelected = (grant: Insights['grants'][number]) =>
    (tool === undefined || grant.tool === tool) && (person === undefined || grant.givenBy === person);
  return {
    since,
    isComplete,
    ...figuresOf(requests, defined(selection), dates),
    grants: grants.filter(isSelected),
  };
}

/** How many requests are read for one period. */
export const MOST_REQUESTS = 10_000;
const PAGE_SIZE = 200;
/** How many requests a page counts as, at least. */
const LEAST_COUNTED = 40;
const DAY_MS = 86_400_000;

/** A statement that settles a request may take this long until others see it. */
const LATE_MS = 120_000;
/** How long a deletion may be unnoticed. */
const KEPT_MS = 600_000;

/** `before`: an earlier result for the same period. */
export async function readSettled(
  { runs, grants }: Countersign,
  { days, startedBy }: Period,
  before?: SettledRequests,
): Promise<SettledRequests> {
  const now = await runs.store.now();
  const since = now - (now % DAY_MS) - (days - 1) * DAY_MS;
  const kept = before !== undefined && now - before.readAt.all < KEPT_MS ? before : undefined;
  const from = kept ? Math.max(kept.readAt.newest - LATE_MS, since) : since;
  const fresh = await readSince(runs, from, startedBy);
  const old = kept?.requests.filter(({ settledAt }) => settledAt >= since && settledAt < from) ?? [];
  const requests = fresh.isComplete ? [...fresh.requests, ...old].slice(0, MOST_REQUESTS) : fresh.requests;
  const isComplete =
    fresh.isComplete && fresh.requests.length + old.length <= MOST_REQUESTS && kept?.isComplete !== false;
  return {
    requests,
    since: isComplete ? since : (requests.at(-1)?.settledAt ?? since),
    isComplete,
    days: Array.from({ length: days }, (_, day) => new Date(since + day * DAY_MS).toISOString().slice(0, 10)),
    grants: startedBy === undefined ? await readGrants(grants, since) : [],
    readAt: { all: kept?.readAt.all ?? now, newest: now },
  };
}

async function readSince(runs: Countersign['runs'], settledSince: number, startedBy: string | undefined) {
  const requests: SettledRequest[] = [];
  let cursor: string | undefined;
  for (let looked = 0; looked < MOST_REQUESTS; ) {
    const query = defined({ settledSince, startedBy, limit: PAGE_SIZE, after: cursor });
    const page = await internalsOf(runs).settledRequests(query);
    for (const facts of page.items) {
      const request = settledRequest(facts);
      if (request) requests.push(request);
    }
    // A page of large requests is short and costs as much.
    looked += Math.max(LEAST_COUNTED, page.items.length);
    if (page.cursor === null) return { requests, isComplete: true };
    cursor = page.cursor;
    // SQLite answers synchronously: this lets other requests run in between.
    await new Promise(setImmediate);
  }
  return { requests, isComplete: false };
}

/** How many grants are read, the newest first. */
const MOST_GRANTS = 200;

async function readGrants(grants: Countersign['grants'], since: number): Promise<Insights['grants']> {
  const { items } = await grants.list({ limit: MOST_GRANTS });
  return items
    .filter(({ madeAt, status }) => madeAt >= since || status === 'active')
    .map(({ id, tool, givenBy, uses, left, status }) => ({
      grant: id,
      tool,
      givenBy,
      carried: uses - left.uses,
      status,
    }))
    .sort((a, b) => b.carried - a.carried);
}

/** The figures of open dashboards, and of every filter on them, come from one read. */
export const sharedRequests = (
  read: (period: Period, before?: SettledRequests) => Promise<SettledRequests>,
  clock = () => performance.now(),
) =>
  cachedReads(
    () => addingTo(read),
    ({ days, startedBy = null }) => JSON.stringify([days, startedBy]),
    { ...SHARED, clock },
  );

const SHARED = { shortestMs: 2_000, share: 4, longestMs: 10_000, most: 20 };

/** Each read gets the result of the one before. */
function addingTo(read: (period: Period, before?: SettledRequests) => Promise<SettledRequests>) {
  let before: SettledRequests | undefined;
  return async (period: Period): Promise<SettledRequests> => {
    before = await read(period, before);
    return before;
  };
}
