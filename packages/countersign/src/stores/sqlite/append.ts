// One append on SQLite, inside a transaction that holds the write lock. It is checked before anything is written.
import { eventsText } from '../../runs/port/chain.ts';
import type { Append, Appended, NewInterrupt, RunStatus } from '../../runs/port/store.ts';
import { dueAfter } from '../rules/due.ts';
import { outcomeOf } from '../rules/outcomes.ts';
import { claimLost, isLost, notPending, openedTwice, runDeleted, runExists, staleVersion } from '../rules/refusals.ts';
import { searchTextOf } from '../rules/search-text.ts';
import { DELETED } from '../sql/rows.ts';
import { type Job, type Prepare, valuesOf } from './connection.ts';

/** Makes the JSON at once, so that neither later changes nor invalid JSON reach the transaction. */
export function sqliteAppend(append: Append, clock: () => number): Job<Appended> {
  const texts = {
    events: eventsText(append.events),
    outcome: JSON.stringify(append.outcome),
    cards: append.opened.map(({ card }) => JSON.stringify(card)),
    settlements: append.settled.map(({ settlement }) => JSON.stringify(settlement)),
  };
  return (prepare) => {
    const now = clock();
    const before = beforeOf(prepare(BEFORE, 'arrays').get(append.runId));
    const pending = check(append, before, now, prepare);
    const claim = claimAfter(append, before, now);
    const run = writeRun(append, before, claim, texts.outcome, now, prepare);
    prepare(ADD_EVENTS).get(run, append.expectedVersion + append.events.length, texts.events);
    const startedBy = before === undefined ? (append.create?.startedBy ?? null) : before.startedBy;
    for (const [index, interrupt] of append.opened.entries()) {
      open(interrupt, texts.cards[index] ?? 'null', startedBy, prepare);
    }
    for (const [index, seq] of pending.entries()) {
      const settlement = texts.settlements[index] ?? 'null';
      const { outcome, edited, expired } = outcomeOf(JSON.parse(settlement));
      prepare(SETTLE).get(now, settlement, outcome, Number(edited), Number(expired), seq);
    }
    return { claimed: append.claim !== undefined && claim.token === append.claim.token };
  };
}

type Before = {
  readonly seq: number;
  readonly version: number;
  readonly status: RunStatus;
  readonly startedBy: string | null;
  readonly dueAt: number | null;
  readonly claim: Claim;
};

type Claim = { readonly token: string | null; readonly until: number | null };

function beforeOf(row: unknown): Before | undefined {
  if (row === undefined) return undefined;
  const [seq, version, status, startedBy, dueAt, token, until] =
    valuesOf<readonly [number, number, RunStatus, string | null, number | null, string | null, number | null]>(row);
  return { seq, version, status, startedBy, dueAt, claim: { token, until } };
}

/** Throws if the append is refused. Returns the row numbers of the interrupts that it settles, in its order. */
function check(append: Append, before: Before | undefined, now: number, prepare: Prepare): readonly number[] {
  const { runId, claim } = append;
  if (append.create !== undefined) {
    if (before !== undefined) throw before.version === DELETED.version ? runDeleted(runId) : runExists(runId);
  } else {
    if (before === undefined || before.version === DELETED.version) throw staleVersion(append, undefined);
    const { token, until } = before.claim;
    const held = token === null || until === null ? undefined : { token, until };
    if (claim !== undefined && isLost(claim, held, now)) throw claimLost(runId, claim.token);
    if (before.version !== append.expectedVersion) throw staleVersion(append, before.version);
  }
  const opened = new Set<string>();
  for (const { id } of append.opened) {
    if (opened.has(id) || prepare(IS_INTERRUPT).get(id) !== undefined) throw openedTwice(runId, id);
    opened.add(id);
  }
  const settled = new Map<string, number>();
  for (const { id } of append.settled) {
    const pending = settled.has(id) ? undefined : prepare(PENDING).get(id, runId);
    if (pending === undefined) throw notPending(runId, id);
    settled.set(id, Number(pending.seq));
  }
  return [...settled.values()];
}

function claimAfter({ claim }: Append, before: Before | undefined, now: number): Claim {
  const held = before?.claim ?? { token: null, until: null };
  if (claim === undefined) return held;
  if (claim.how === 'release' || claim.how === 'pass') return { token: null, until: null };
  const isFree = held.token === null || held.token === claim.token || (held.until ?? 0) <= now;
  return isFree ? { token: claim.token, until: now + Math.ceil(claim.leaseMs) } : held;
}

/** Returns the number of the run's row. */
function writeRun(
  append: Append,
  before: Before | undefined,
  claim: Claim,
  outcome: string,
  now: number,
  prepare: Prepare,
): number | bigint {
  const { runId, create, hash, status, wakeAt } = append;
  const version = append.expectedVersion + append.events.length;
  const due = dueAfter(append, before, now);
  const { token, until } = claim;
  if (before !== undefined) {
    prepare(UPDATE_RUN).get(status, version, hash, now, wakeAt, due, token, until, outcome, before.seq);
    return before.seq;
  }
  const { agent = '', startedBy = null } = create ?? {};
  // biome-ignore format: in the order of the columns
  return prepare(ADD_RUN).run(
    runId, agent, startedBy, now, status, version, hash, now, wakeAt, due, token, until, outcome,
  ).lastInsertRowid;
}

function open(interrupt: NewInterrupt, card: string, startedBy: string | null, prepare: Prepare): void {
  const { id, runId, agent, tool, kind, risk, createdAt, expiresAt, remindAt, digest } = interrupt;
  const labels = interrupt.labels.length === 0 ? null : JSON.stringify(interrupt.labels);
  // biome-ignore format: in the order of the columns
  prepare(OPEN).get(
    id, runId, startedBy, agent, tool, kind, risk, labels, createdAt, expiresAt, remindAt, digest,
    searchTextOf(interrupt), card,
  );
}

const BEFORE = `SELECT seq, version, status, started_by, due_at, claim_token, claim_until FROM countersign_run
  WHERE id = ?`;

const ADD_RUN = `INSERT INTO countersign_run (id, agent, started_by, created_at,
    status, version, hash, updated_at, wake_at, due_at, claim_token, claim_until, outcome)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const UPDATE_RUN = `UPDATE countersign_run SET status = ?, version = ?, hash = ?, updated_at = ?, wake_at = ?,
    due_at = ?, claim_token = ?, claim_until = ?, outcome = ?
  WHERE seq = ?`;

const ADD_EVENTS = 'INSERT INTO countersign_event (run_seq, version, events) VALUES (?, ?, ?)';

const IS_INTERRUPT = 'SELECT 1 FROM countersign_interrupt WHERE id = ?';

const PENDING = 'SELECT seq FROM countersign_interrupt WHERE id = ? AND run_id = ? AND settled_at IS NULL';

const OPEN = `INSERT INTO countersign_interrupt (id, run_id, started_by, agent, tool, kind, risk, labels, created_at,
    expires_at, remind_at, digest, search_text, card)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const SETTLE = `UPDATE countersign_interrupt SET settled_at = ?, settlement = ?, outcome = ?, edited = ?, expired = ?
  WHERE seq = ?`;
