// The rows that both SQL stores have, and the records they stand for. JSON is kept as text, byte for byte. What is no
// JSON any more was changed by somebody else, or by a disk.
import { ProviderError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { UNREADABLE } from '../../runs/port/chain.ts';
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
import { makePage, type Place } from '../rules/page.ts';

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

/** `batches`: what `BATCH` gives of each append, one a line, oldest first; null if there are none. */
export type LoadedRow = RunRow & { readonly batches: string | null };

/** Of a row of events: the version of the run after it, and the JSON array of the events. */
export const BATCH = "version || ',' || events";

export type InterruptRow = {
  readonly seq: number;
  readonly id: string;
  readonly run_id: string;
  readonly agent: string;
  readonly tool: string;
  readonly kind: string;
  readonly risk: Risk | null;
  /** A JSON array; null when there are none. */
  readonly labels: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly remind_at: number | null;
  readonly card: string;
  readonly digest: string;
  readonly settled_at: number | null;
  readonly settlement: string | null;
  readonly started_by: string | null;
  /** Where it stands in a list that has times of its own. They are the same, unless somebody changed one. */
  readonly listed_at?: number;
};

export const RUN_COLUMNS: readonly string[] =
  'seq id agent status version hash started_by created_at updated_at wake_at outcome'.split(' ');

export const INTERRUPT_COLUMNS: readonly string[] =
  'seq id run_id agent tool kind risk labels created_at expires_at remind_at card digest settled_at settlement started_by'.split(
    ' ',
  );

/** The values of a loaded row: those of the columns of a run, and the batches. */
export type LoadedValues = readonly [
  seq: number,
  id: string,
  agent: string,
  status: RunStatus,
  version: number,
  hash: string,
  startedBy: string | null,
  createdAt: number,
  updatedAt: number,
  wakeAt: number | null,
  outcome: string,
  batches: string | null,
];

export function loadedRow(values: LoadedValues): LoadedRow {
  const [seq, id, agent, status, version, hash, started_by, created_at, updated_at, wake_at, outcome, batches] = values;
  return { seq, id, agent, status, version, hash, started_by, created_at, updated_at, wake_at, outcome, batches };
}

/** Throws if the outcome or a number cannot be read. */
export function runOf(row: RunRow): RunRecord {
  const { version, created_at, updated_at, wake_at } = row;
  checkNumbers('run', row.id, { version, created_at, updated_at, wake_at });
  return recordOf(row, readable('run', row.id, 'outcome', jsonIn(row.outcome)));
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

/**
 * The row of a run that was deleted stays, as all that is left of it, for the sake of its id. It has this version, so that
 * no append fits, and a status of its own.
 */
export const DELETED = { version: -1, status: 'deleted' } as const;

/** True for the rows of runs that were not deleted. */
export const IS_THERE = 'version >= 0';

/**
 * True for the rows of runs that nobody holds. Who changes the store may leave a claim without its holder, or without its
 * end: that is none, or nobody could ever take it.
 */
export const isFree = (now: string, run = ''): string =>
  `(${run}claim_token IS NULL OR ${run}claim_until IS NULL OR ${run}claim_until <= ${now})`;

/** How many runs have this status. */
export type CountRow = { readonly status: RunStatus; readonly count: number };

export function countsOf(rows: readonly CountRow[]): RunCounts {
  const none: RunCounts = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
  const known = rows.filter(({ status }) => status in none);
  return { ...none, ...Object.fromEntries(known.map(({ status, count }) => [status, count])) };
}

export function placeOf({ created_at, listed_at = created_at, seq }: InterruptRow): Place {
  return { createdAt: listed_at, seq };
}

/** Runs are listed in the order of their numbers alone. */
export function pageOfRuns(rows: readonly RunRow[], query: RunQuery): Page<RunRecord> {
  return makePage(rows, query, runOf, ({ seq }) => ({ createdAt: 0, seq }));
}

export function pageOfInterrupts(rows: readonly InterruptRow[], query: InterruptQuery): Page<InterruptRecord> {
  return makePage(rows, query, interruptOf, placeOf);
}

/** The events after the first `after`; the oldest batch of the row may begin before it. */
export function loadedOf(row: LoadedRow, after: number): LoadedRun {
  const { run, events } = loaded(row, after);
  // Of a whole run it is told how many events there are, and how many there should be.
  const until = after > 0 ? run.version : undefined;
  return { run, events: after >= run.version ? [] : events(until) };
}

/** As many events after the first `after`. The row has that many batches at most, and none of them is empty. */
export function partOf(row: LoadedRow, after: number, limit: number): LoadedRun {
  const { run, events } = loaded(row, after);
  return { run, events: events().slice(0, limit) };
}

/** A run whose outcome cannot be read is not what was recorded: its events are not believed either. */
function loaded(
  row: LoadedRow,
  after: number,
): { readonly run: RunRecord; readonly events: (until?: number) => readonly StoredEvent[] } {
  const outcome = jsonIn(row.outcome);
  if (outcome === undefined) return { run: recordOf(row, null), events: () => UNREADABLE };
  return { run: recordOf(row, outcome), events: (until) => eventsOf(row.batches, Math.max(0, after), until) };
}

function eventsOf(text: string | null, after: number, until: number | undefined): readonly StoredEvent[] {
  if (text === null) return [];
  const read = batchesIn(text);
  if (read === undefined || read.from < 0 || read.from > after) return UNREADABLE;
  return until === undefined || read.until === until ? read.events.slice(after - read.from) : UNREADABLE;
}

/** The events of some appends in a row, and the versions of the run before and after them. */
type Batches = { readonly events: readonly StoredEvent[]; readonly from: number; readonly until: number };

/** Undefined if they cannot be read, or do not follow upon each other. */
function batchesIn(text: string): Batches | undefined {
  // A line end inside a JSON text is always escaped, so each of these stands between two batches.
  const parsed = jsonIn(`[${text.replaceAll('\n', ',')}]`);
  if (!Array.isArray(parsed)) return undefined;
  const batches: StoredEvent[][] = [];
  let from: number | undefined;
  let until = 0;
  for (let index = 0; index < parsed.length; index += 2) {
    const [version, batch] = [parsed[index], parsed[index + 1]];
    if (typeof version !== 'number' || !Array.isArray(batch) || batch.length === 0 || !batch.every(isObject))
      return undefined;
    from ??= until = version - batch.length;
    until += batch.length;
    if (until !== version) return undefined;
    batches.push(batch as unknown as StoredEvent[]);
  }
  return from === undefined ? undefined : { events: batches.flat(), from, until };
}

/** Throws if one of its texts or times cannot be read. */
export function interruptOf(row: InterruptRow): InterruptRecord {
  const { created_at, expires_at, remind_at, settled_at } = row;
  checkNumbers('interrupt', row.id, { created_at, expires_at, remind_at, settled_at });
  const read = <T>(field: string, value: T | undefined): T => readable('interrupt', row.id, field, value);
  return {
    id: row.id,
    runId: row.run_id,
    startedBy: row.started_by,
    agent: row.agent,
    tool: row.tool,
    kind: row.kind,
    risk: row.risk,
    labels: row.labels === null ? [] : read('labels', labelsIn(row.labels)),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    remindAt: row.remind_at,
    card: read('card', jsonIn(row.card)),
    digest: row.digest,
    settledAt: row.settled_at,
    settlement: row.settlement === null ? null : read('settlement', jsonIn(row.settlement)),
  };
}

/** A database has whole numbers that JavaScript has not; no store is given them. */
function checkNumbers(
  of: 'run' | 'interrupt',
  id: string,
  numbers: { readonly [column: string]: number | null },
): void {
  for (const [column, number] of Object.entries(numbers))
    readable(of, id, column, number === null || Number.isSafeInteger(number) ? number : undefined);
}

/** Undefined if it is no list of texts. */
export function labelsIn(text: string): readonly string[] | undefined {
  const labels = jsonIn(text);
  return Array.isArray(labels) && labels.every((label) => typeof label === 'string') ? labels : undefined;
}

/** Undefined if it is no JSON, which no JSON stands for. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function readable<T>(of: 'run' | 'interrupt' | 'note', id: string, field: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new ProviderError(
    'store-failed',
    { [`${of}Id`]: id, field },
    `The ${field} of ${of} ${id} cannot be read: somebody changed the store, or the disk did. Look at a backup.`,
    { retryable: false },
  );
}
