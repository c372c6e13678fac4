// The rows that both SQL stores have, and the records that they stand for. JSON is stored as text, byte for byte.
import { isObject, type Json } from '../../core/json.ts';
import { UNREADABLE } from '../../runs/port/chain.ts';
import { mapValid } from '../../runs/port/skip-invalid.ts';
import type {
  AgentQueue,
  LoadedRun,
  Page,
  RequestQuery,
  RequestRecord,
  Risk,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  StoredEvent,
  UntoldRequest,
} from '../../runs/port/store.ts';
import { decidersIn } from '../rules/deciders.ts';
import { MOST_DOUBLINGS } from '../rules/due.ts';
import { isBySettlement, makePage, type Place } from '../rules/page.ts';
import { readRow } from '../rules/read-row.ts';

export type RunRow = {
  readonly seq: number;
  readonly id: string;
  readonly agent: string;
  readonly status: RunStatus;
  readonly version: number;
  readonly hash: string;
  readonly started_by: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly wake_at: number | null;
  readonly outcome: string;
};

/**
 * `batches`: a line for each append, oldest first, with the version of the run after it, a comma, and the JSON array of its
 * events; null if there are none.
 */
export type LoadedRow = RunRow & { readonly batches: string | null };

export type RequestRow = {
  readonly seq: number;
  readonly id: string;
  readonly run_id: string;
  readonly agent: string;
  readonly tool: string;
  readonly kind: string;
  readonly risk: Risk | null;
  /** A JSON array; null if there are none. */
  readonly labels: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  /** A JSON array of keys. */
  readonly deciders: string;
  readonly card: string;
  readonly digest: string;
  readonly progress: string | null;
  readonly settled_at: number | null;
  readonly settlement: string | null;
  readonly started_by: string | null;
  /** JSON; null if nothing is known. */
  readonly ending: string | null;
};

export const RUN_COLUMNS: readonly string[] =
  'seq id agent status version hash started_by created_at updated_at wake_at outcome'.split(' ');

export const INTERRUPT_COLUMNS: readonly string[] =
  'seq id run_id agent tool kind risk labels created_at expires_at deciders card digest progress settled_at settlement started_by ending'.split(
    ' ',
  );

/** The row of a deleted run stays, so that its id is not used again. No append expects its version. */
export const DELETED = { version: -1, status: 'deleted' } as const;

/** True for rows of runs that were not deleted. */
export const EXISTS = 'version >= 0';

/** True for rows of runs that no worker holds. */
export const isFree = (now: string, run = ''): string =>
  `(${run}claim_token IS NULL OR ${run}claim_until IS NULL OR ${run}claim_until <= ${now})`;

/**
 * Selects the queues of all agents. Rows are found by the index of due runs. A run whose claim has lapsed is without a worker
 * since then, and any other since it is due.
 */
export const queueSql = (runs: string, now: string, number: (value: string) => string): string => {
  const since = 'CASE WHEN claim_token IS NOT NULL AND claim_until > due_at THEN claim_until ELSE due_at END';
  return `SELECT agent, ${number(`count(*) FILTER (WHERE ${isFree(now)})`)} AS due,
      ${number(`min(${since}) FILTER (WHERE ${isFree(now)})`)} AS due_since,
      ${number(`count(*) FILTER (WHERE NOT ${isFree(now)})`)} AS claimed
    FROM ${runs} WHERE due_at <= ${now} GROUP BY agent ORDER BY agent`;
};

export type QueueRow = {
  readonly agent: string;
  readonly due: number;
  readonly due_since: number | null;
  readonly claimed: number;
};

export const queueOf = ({ due_since, ...queue }: QueueRow): AgentQueue => ({ ...queue, dueSince: due_since });

/** Marks the request as untold since this time. The pauses between attempts begin again. */
export const untoldSince = (time: string, row = ''): string =>
  `news = coalesce(${row}news, 0) + 1, tell_at = ${time}, tell_attempts = NULL`;

/** Nobody is told what came of a call that nobody was asked about. */
export const unlessUnasked = (time: string, row = ''): string =>
  `CASE WHEN coalesce(${row}outcome, '') NOT IN ('granted', 'observed') THEN ${time} END`;

/** Lets the request be taken again after a pause, which doubles with each attempt. */
export const takenUntold = (now: string, leaseMs: string, lesser: string, row = ''): string => {
  const attempts = `coalesce(${row}tell_attempts, 0)`;
  return `tell_attempts = ${attempts} + 1,
    tell_at = ${now} + ${leaseMs} * (1 << ${lesser}(${attempts}, ${MOST_DOUBLINGS}))`;
};

/** Removes the mark, unless it has another number. */
export const toldSql = (table: string, id: string, news: string): string =>
  `UPDATE ${table} SET tell_at = NULL, tell_attempts = NULL WHERE id = ${id} AND news = ${news}`;

export type UntoldRow = RequestRow & { readonly news: number };

export const untoldOf = (rows: readonly UntoldRow[]): readonly UntoldRequest[] =>
  mapValid(rows, (row) => ({ request: requestOf(row), news: row.news }));

/** How many runs have this status. */
export type CountRow = { readonly status: RunStatus; readonly count: number };

export function countsOf(rows: readonly CountRow[]): RunCounts {
  const none: RunCounts = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
  const known = rows.filter(({ status }) => status in none);
  return { ...none, ...Object.fromEntries(known.map(({ status, count }) => [status, count])) };
}

/** Throws if the row cannot be read. */
export function runOf(row: RunRow): RunRecord {
  return readRow('run', row.id, () => recordOf(row, JSON.parse(row.outcome)));
}

function recordOf(row: RunRow, outcome: Json): RunRecord {
  return {
    id: row.id,
    agent: row.agent,
    status: row.status,
    version: row.version,
    hash: row.hash,
    startedBy: row.started_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    wakeAt: row.wake_at,
    outcome,
  };
}

/** Throws if the row cannot be read. */
export function requestOf(row: RequestRow): RequestRecord {
  return readRow('request', row.id, () => ({
    id: row.id,
    runId: row.run_id,
    startedBy: row.started_by,
    agent: row.agent,
    tool: row.tool,
    kind: row.kind,
    risk: row.risk,
    labels: row.labels === null ? [] : JSON.parse(row.labels),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    deciders: decidersIn(JSON.parse(row.deciders)),
    card: JSON.parse(row.card),
    digest: row.digest,
    progress: row.progress === null ? null : JSON.parse(row.progress),
    settledAt: row.settled_at,
    settlement: row.settlement === null ? null : JSON.parse(row.settlement),
    outcome: row.ending === null ? null : JSON.parse(row.ending),
  }));
}

/** Runs are listed in the order of their numbers alone. */
export function pageOfRuns(rows: readonly RunRow[], query: RunQuery): Page<RunRecord> {
  return makePage(rows, query, runOf, runPlace, runSize);
}

export function pageOfRequests(rows: readonly RequestRow[], query: RequestQuery): Page<RequestRecord> {
  return makePage(rows, query, requestOf, requestPlace(query), interruptSize);
}

export const runPlace = ({ seq }: RunRow): Place => ({ createdAt: 0, seq });
export const runSize = ({ outcome }: RunRow): number => outcome.length;
/** The place of a request in such a list. */
export const requestPlace =
  (query: RequestQuery) =>
  ({ created_at, settled_at, seq }: RequestRow): Place => ({
    createdAt: isBySettlement(query) ? Number(settled_at) : created_at,
    seq,
  });
export const interruptSize = ({ card, settlement, progress, ending }: RequestRow): number =>
  card.length + (settlement?.length ?? 0) + (progress?.length ?? 0) + (ending?.length ?? 0);

/**
 * The run with at most `limit` events after the first `after`. The row has at most `limit` batches, and none of them is
 * empty. What cannot be read is `UNREADABLE`, which no chain fits.
 */
export function loadedOf(row: LoadedRow, after: number, limit: number): LoadedRun {
  try {
    // JSON escapes line ends, so each of these separates two batches.
    const parsed: unknown[] = row.batches === null ? [] : JSON.parse(`[${row.batches.replaceAll('\n', ',')}]`);
    const lists = parsed.filter((_, index) => index % 2 === 1) as StoredEvent[][];
    const from = parsed.length === 0 ? 0 : Number(parsed[0]) - (lists[0]?.length ?? 0);
    let until = from;
    for (const [index, list] of lists.entries()) {
      until += list.length;
      if (until !== parsed[2 * index] || !list.every(isObject)) throw new TypeError('a row of events is missing');
    }
    if (from < 0 || from > Math.max(0, after)) throw new TypeError('a row of events is missing');
    const first = Math.max(0, after - from);
    return { run: recordOf(row, JSON.parse(row.outcome)), events: lists.flat().slice(first, first + limit) };
  } catch {
    // The chain of the run is not believed without its outcome either.
    return { run: recordOf(row, null), events: UNREADABLE };
  }
}
