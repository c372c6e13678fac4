// One append on SQLite, inside a transaction that holds the write lock. It is checked before anything is written.
import { type Append, type Appended, FREEZES, type RunStatus } from '../../runs/port/store.ts';
import { claimAfter } from '../rules/claim.ts';
import { dueAfter } from '../rules/due.ts';
import { refusalOf } from '../rules/refusals.ts';
import { type EncodedAppend, type EncodedSettlement, encodeAppend } from '../sql/encode.ts';
import { DELETED, unlessUnasked, untoldSince } from '../sql/rows.ts';
import type { Job } from './connection.ts';

export function sqliteAppend(append: Append, clock: () => number): Job<Appended> {
  const { run, opened, settled, progressed, ended } = encodeAppend(append);
  return (prepare) => {
    const now = append.at ?? clock();
    const starts = append.freezes !== undefined;
    const found = prepare(starts ? BEFORE_START : BEFORE).get(append.runId) as
      | (Before & { freezes?: number })
      | undefined;
    const before = found?.seq == null ? undefined : found;
    const held = before && claimOf(before);
    const stored = {
      run:
        before?.version === DELETED.version ? ('deleted' as const) : before && { version: before.version, claim: held },
      isInterrupt: (id: string) => prepare(IS_INTERRUPT).get(id) !== undefined,
      isPending: (id: string) => prepare(IS_PENDING).get(id, append.runId) !== undefined,
      freezes: found?.freezes,
    };
    const refusal = refusalOf(append, stored, now);
    if (refusal) throw refusal;

    const claim = claimAfter(append, held, now);
    const version = run.expected + run.added;
    const dueAt = dueAfter(append, before && { status: before.status, dueAt: before.due_at }, now);
    const [token, until] = [claim?.token ?? null, claim?.until ?? null];
    const fields = [run.status, version, run.hash, now, run.wake_at, dueAt, token, until, run.outcome];
    if (before !== undefined) prepare(UPDATE_RUN).get(...fields, before.seq);
    const seq =
      before?.seq ?? prepare(ADD_RUN).run(run.run_id, run.agent, run.started_by, now, ...fields).lastInsertRowid;
    prepare(ADD_EVENTS).get(seq, version, run.events);
    const startedBy = before === undefined ? run.started_by : before.started_by;
    // A copy of an append has an earlier time, but people can be told only now.
    const tellAt = append.at === undefined ? now : clock();
    for (const row of opened) {
      const given = OPENED.map((column) => row[column]);
      if (row.settlement === undefined) prepare(OPEN).get(1, tellAt, startedBy, ...given);
      else prepare(OPEN_SETTLED).get(now, ...SETTLED.map((column) => row[column] ?? null), startedBy, ...given);
    }
    for (const row of settled) prepare(SETTLE).get(tellAt, now, ...SETTLED.map((column) => row[column]), row.id);
    for (const { id, progress, deciders } of progressed) prepare(PROGRESS).get({ id, progress, tellAt, deciders });
    for (const row of ended) prepare(END).get(tellAt, row.ended, row.ending, row.id, row.run_id);
    return { claimed: append.claim !== undefined && token === append.claim.token };
  };
}

type Before = {
  readonly seq: number;
  readonly version: number;
  readonly status: RunStatus;
  readonly started_by: string | null;
  readonly due_at: number | null;
  readonly claim_token: string | null;
  readonly claim_until: number | null;
};

function claimOf({ claim_token: token, claim_until: until }: Before) {
  return token === null || until === null ? undefined : { token, until };
}

const BEFORE = `SELECT seq, version, status, started_by, due_at, claim_token, claim_until FROM countersign_run
  WHERE id = ?`;

/** A row in any case: the run may be new. */
const BEFORE_START = `SELECT r.*, coalesce((SELECT version FROM countersign_note
    WHERE collection = '${FREEZES[0]}' AND key = '${FREEZES[1]}'), 0) AS freezes
  FROM (SELECT 1) LEFT JOIN (${BEFORE}) r`;

const RUN = ['status', 'version', 'hash', 'updated_at', 'wake_at', 'due_at', 'claim_token', 'claim_until', 'outcome'];

const ADD_RUN = insertion('run', ['id', 'agent', 'started_by', 'created_at', ...RUN]);

const UPDATE_RUN = `UPDATE countersign_run SET ${RUN.map((column) => `${column} = ?`).join(', ')} WHERE seq = ?`;

const ADD_EVENTS = insertion('event', ['run_seq', 'version', 'events']);

const IS_INTERRUPT = 'SELECT 1 FROM countersign_request WHERE id = ?';

const IS_PENDING = 'SELECT 1 FROM countersign_request WHERE id = ? AND run_id = ? AND settled_at IS NULL';

// biome-ignore format: as a list of columns
const OPENED: readonly Exclude<keyof EncodedAppend['opened'][number], keyof EncodedSettlement>[] = [
  'id', 'run_id', 'agent', 'tool', 'kind', 'risk', 'labels', 'created_at', 'expires_at', 'digest',
  'deciders', 'search_text', 'card', 'progress',
];

const OPEN = insertion('request', ['news', 'tell_at', 'started_by', ...OPENED]);

const SETTLED: readonly (keyof EncodedSettlement)[] = ['settlement', 'outcome', 'edited', 'expired', 'ended', 'ending'];

/** Nobody is told of it. */
const OPEN_SETTLED = insertion('request', ['settled_at', ...SETTLED, 'started_by', ...OPENED]);

const SETTLE = `UPDATE countersign_request SET ${untoldSince('?')}, settled_at = ?,
  ${SETTLED.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;

const PROGRESS = `UPDATE countersign_request SET progress = :progress, deciders = coalesce(:deciders, deciders), ${untoldSince(':tellAt')}
  WHERE id = :id`;

const END = `UPDATE countersign_request SET ${untoldSince(unlessUnasked('?'))}, ended = ?, ending = ? WHERE id = ? AND run_id = ?`;

function insertion(table: string, columns: readonly string[]): string {
  return `INSERT INTO countersign_${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
}
