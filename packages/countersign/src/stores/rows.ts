// The rows that both SQL stores have, and the records they stand for. JSON is kept as text, byte for byte.
import type { InterruptRecord, LoadedRun, Risk, RunCounts, RunRecord, RunStatus, StoredEvent } from '../runs/store.ts';
import type { Place } from './page.ts';

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

/** `batches`: the JSON arrays of the events, one a line, oldest first; null if there are none. */
export type LoadedRow = RunRow & { readonly batches: string | null };

/** `until`: the version of the run at the end of the last of the batches; null if there are none. */
export type PartRow = LoadedRow & { readonly until: number | null };

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

export function runOf(row: RunRow): RunRecord {
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
    outcome: JSON.parse(row.outcome),
  };
}

/** How many runs have this status. */
export type CountRow = { readonly status: RunStatus; readonly count: number };

export function countsOf(rows: readonly CountRow[]): RunCounts {
  const none: RunCounts = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) };
}

export function placeOf(row: { readonly created_at: number; readonly seq: number }): Place {
  return { createdAt: row.created_at, seq: row.seq };
}

/** The events after the first `after`; the oldest batch of the row may begin before it. */
export function loadedOf(row: LoadedRow, after: number): LoadedRun {
  const run = runOf(row);
  return { run, events: after >= run.version ? [] : eventsOf(row.batches).slice(after - run.version) };
}

/** As many events after the first `after`. The row has that many batches at most, and none of them is empty. */
export function partOf(row: PartRow, after: number, limit: number): LoadedRun {
  const events = eventsOf(row.batches);
  const first = (row.until ?? 0) - events.length;
  return { run: runOf(row), events: events.slice(Math.max(0, after - first)).slice(0, limit) };
}

export function eventsOf(batches: string | null): readonly StoredEvent[] {
  if (batches === null) return [];
  if (!batches.includes('\n')) return JSON.parse(batches);
  // A line end inside a JSON text is always escaped, so each of these stands between two batches.
  const parsed: readonly (readonly StoredEvent[])[] = JSON.parse(`[${batches.replaceAll('\n', ',')}]`);
  return parsed.flat();
}

export function interruptOf(row: InterruptRow): InterruptRecord {
  return {
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
    remindAt: row.remind_at,
    card: JSON.parse(row.card),
    digest: row.digest,
    settledAt: row.settled_at,
    settlement: row.settlement === null ? null : JSON.parse(row.settlement),
  };
}
