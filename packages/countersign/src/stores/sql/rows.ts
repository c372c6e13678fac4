// The rows that both SQL stores have, and the records that they stand for. JSON is stored as text, byte for byte.
import { isObject, type Json } from '../../core/json.ts';
import { UNREADABLE } from '../../runs/port/chain.ts';
import { FULL_PAGE_SIZE } from '../../runs/port/page.ts';
import type {
  InterruptQuery,
  InterruptRecord,
  LoadedRun,
  Page,
  Risk,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  StoredEvent,
} from '../../runs/port/store.ts';
import { makePage } from '../rules/page.ts';
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

/** `batches`: what `BATCH` gives of each append, one per line, oldest first; null if there are none. */
export type LoadedRow = RunRow & { readonly batches: string | null };

/** Of a row of events: the version of the run after it, and the JSON array of the events. */
const BATCH = "version || ',' || events";

/** `rows` selects the version and the events of batches in their order. Joins those that fill a page, at least one. */
export const pageOfBatches = (rows: string, join: 'string_agg' | 'group_concat', lineEnd: string): string => `(
    SELECT ${join}(${BATCH}, ${lineEnd} ORDER BY version) FROM (
      SELECT version, events,
        sum(octet_length(events)) OVER (ORDER BY version ROWS UNBOUNDED PRECEDING) - octet_length(events) AS size_before
      FROM (${rows}) b
    ) p WHERE size_before < ${FULL_PAGE_SIZE}
  )`;

export type InterruptRow = {
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
  readonly remind_at: number | null;
  readonly card: string;
  readonly digest: string;
  readonly settled_at: number | null;
  readonly settlement: string | null;
  readonly started_by: string | null;
};

export const RUN_COLUMNS: readonly string[] =
  'seq id agent status version hash started_by created_at updated_at wake_at outcome'.split(' ');

export const INTERRUPT_COLUMNS: readonly string[] =
  'seq id run_id agent tool kind risk labels created_at expires_at remind_at card digest settled_at settlement started_by'.split(
    ' ',
  );

/** The row of a deleted run stays, so that its id is not used again. No append expects its version. */
export const DELETED = { version: -1, status: 'deleted' } as const;

/** True for rows of runs that were not deleted. */
export const EXISTS = 'version >= 0';

/** True for rows of runs that no worker holds. */
export const isFree = (now: string, run = ''): string =>
  `(${run}claim_token IS NULL OR ${run}claim_until IS NULL OR ${run}claim_until <= ${now})`;

/** How many runs have this status. */
export type CountRow = { readonly status: RunStatus; readonly count: number };

export function countsOf(rows: readonly CountRow[]): RunCounts {
  const none: RunCounts = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
  const known = rows.filter(({ status }) => status in none);
  return { ...none, ...Object.fromEntries(known.map(({ status, count }) => [status, count])) };
}

/** Throws if the row cannot be read. */
export function runOf(row: RunRow): RunRecord {
  return readRow('run', row.id, () => {
    for (const number of [row.version, row.created_at, row.updated_at, row.wake_at]) safeOrNull(number);
    return recordOf(row, JSON.parse(row.outcome));
  });
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
export function interruptOf(row: InterruptRow): InterruptRecord {
  return readRow('interrupt', row.id, () => ({
    id: row.id,
    runId: row.run_id,
    startedBy: row.started_by,
    agent: row.agent,
    tool: row.tool,
    kind: row.kind,
    risk: row.risk,
    labels: row.labels === null ? [] : JSON.parse(row.labels),
    createdAt: safe(row.created_at),
    expiresAt: safeOrNull(row.expires_at),
    remindAt: safeOrNull(row.remind_at),
    card: JSON.parse(row.card),
    digest: row.digest,
    settledAt: safeOrNull(row.settled_at),
    settlement: row.settlement === null ? null : JSON.parse(row.settlement),
  }));
}

/** A database holds larger integers than JavaScript; the store never writes them. */
function safe(number: number): number {
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`${number} is not a safe integer`);
}

function safeOrNull(number: number | null): number | null {
  return number === null ? null : safe(number);
}

/** Runs are listed in the order of their numbers alone. */
export function pageOfRuns(rows: readonly RunRow[], query: RunQuery): Page<RunRecord> {
  return makePage(rows, query, runOf, ({ seq }) => ({ createdAt: 0, seq }));
}

export function pageOfInterrupts(rows: readonly InterruptRow[], query: InterruptQuery): Page<InterruptRecord> {
  return makePage(rows, query, interruptOf, ({ created_at, seq }) => ({ createdAt: created_at, seq }));
}

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
