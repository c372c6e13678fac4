// The store in the memory of this process, for tests and for runs that need not outlive it.
import type { Json } from '../../core/json.ts';
import { anything, checkOptions } from '../../core/options.ts';
import type { Notes } from '../../runs/port/notes.ts';
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import type { Stats, StatsQuery } from '../../runs/port/stats.ts';
import type {
  Append,
  Appended,
  InterruptQuery,
  InterruptRecord,
  LoadedRun,
  Page,
  ReadOptions,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  Store,
  StoredEvent,
  TakenReminder,
} from '../../runs/port/store.ts';
import { type Claim, claimAfter, mayTake, takeClaim } from '../rules/claim.ts';
import { dueAfter, MOST_DOUBLINGS } from '../rules/due.ts';
import { createNotes } from '../rules/notes.ts';
import { hasOutcome, outcomeOf } from '../rules/outcomes.ts';
import { makePage, type Order, type Place, readEventLimit, readPageRequest } from '../rules/page.ts';
import { checkAppend, refusalOf } from '../rules/refusals.ts';
import { searchTextOf, searchWords } from '../rules/search-text.ts';
import { readStatsQuery, statsOf } from '../rules/stats.ts';
import { createWatchers, type Watchers } from '../rules/watchers.ts';
import { MemoryNotes } from './notes.ts';
import { SortedList } from './sorted-list.ts';
import { memoryStats } from './stats.ts';

/** Keeps runs in memory: nothing to start, nothing left when the process ends. `now` is the clock, in milliseconds. */
export function memoryStore(options: { readonly now?: () => number } = {}): Store {
  checkOptions('`memoryStore`', options, { now: anything });
  const { now = Date.now } = options;
  return new MemoryStore(() => Math.floor(now()));
}

/** A run in memory, with its events as JSON texts. */
type KeptRun = Place & {
  readonly id: string;
  record: RunRecord;
  readonly events: string[];
  claim: Claim | undefined;
  /** Since when, or from when on, the run is due. */
  dueAt: number | null;
};

/** Runs in these statuses can be deleted. */
const ENDED: ReadonlySet<RunStatus> = new Set(['done', 'cancelled']);

type KeptInterrupt = Place & { readonly record: InterruptRecord; readonly searchText: string };

/** When a reminder is due next, and how often it was taken. */
type KeptReminder = { readonly dueAt: number; readonly attempts: number };

class MemoryStore implements Store {
  readonly #now: () => number;
  readonly #runs = new Map<string, KeptRun>();
  readonly #sortedRuns = new SortedList<KeptRun>();
  readonly #deleted = new Set<string>();
  readonly #interrupts = new Map<string, KeptInterrupt>();
  readonly #waiting = new SortedList<KeptInterrupt>();
  readonly #settled = new SortedList<KeptInterrupt>();
  /** Of pending interrupts whose reminder was not confirmed. */
  readonly #reminders = new Map<string, KeptReminder>();
  /** How many runs and interrupts were created. Numbers are never used again. */
  #made = 0;
  readonly #watchers: Watchers = createWatchers();
  readonly notes: Notes;

  constructor(now: () => number) {
    this.#now = now;
    this.notes = createNotes(new MemoryNotes(now));
  }

  async append(append: Append): Promise<Appended> {
    checkAppend(append);
    const { runId, claim } = append;
    const before = this.#runs.get(runId);
    const stored = {
      run: before && { version: before.record.version, claim: before.claim },
      isInterrupt: (id: string) => this.#interrupts.has(id),
      isPending: (id: string) => this.#isPending(id, runId),
    };
    const refusal = refusalOf(append, this.#deleted.has(runId) ? { ...stored, run: 'deleted' } : stored, this.#now());
    if (refusal) throw refusal;
    // Once the JSON is copied, nothing can fail.
    const now = this.#now();
    const { startedBy = null } = before?.record ?? append.create ?? {};
    const events = append.events.map((event) => JSON.stringify(event));
    const opened = append.opened.map((interrupt) =>
      copy({ ...interrupt, startedBy, settledAt: null, settlement: null }),
    );
    const settled = append.settled.map(({ id, settlement }) => ({ id, settlement: copy(settlement) }));
    const record = copy(recordAfter(append, before?.record, now));

    const dueAt = dueAfter(append, before && { status: before.record.status, dueAt: before.dueAt }, now);
    const place = { createdAt: now, seq: ++this.#made };
    const run: KeptRun = before ?? { ...place, id: runId, record, events: [], claim: undefined, dueAt };
    if (before === undefined) {
      this.#runs.set(runId, run);
      this.#sortedRuns.add(run);
    }
    run.record = record;
    run.dueAt = dueAt;
    for (const event of events) run.events.push(event);
    run.claim = claimAfter(append, run.claim, now);
    for (const interrupt of opened) this.#open(interrupt);
    for (const { id, settlement } of settled) this.#settle(id, settlement, now);
    this.#watchers.notify(runId);
    return { claimed: claim !== undefined && run.claim?.token === claim.token };
  }

  async read(runId: string, { after = 0, limit }: ReadOptions = {}): Promise<LoadedRun | undefined> {
    const run = this.#runs.get(runId);
    const most = readEventLimit(limit);
    return run && load(run, after, most);
  }

  async delete(runId: string): Promise<boolean> {
    const run = this.#runs.get(runId);
    if (run === undefined || !ENDED.has(run.record.status) || !mayTake('', run.claim, this.#now())) return false;
    this.#deleted.add(runId);
    this.#runs.delete(runId);
    this.#sortedRuns.remove(run);
    for (const [id, interrupt] of this.#interrupts) {
      if (interrupt.record.runId !== runId) continue;
      this.#interrupts.delete(id);
      this.#reminders.delete(id);
      (interrupt.record.settledAt === null ? this.#waiting : this.#settled).remove(interrupt);
    }
    this.#watchers.notify(runId);
    return true;
  }

  async claim(runId: string, token: string, leaseMs: number): Promise<LoadedRun | undefined> {
    const run = this.#runs.get(runId);
    const now = this.#now();
    if (run === undefined || !mayTake(token, run.claim, now)) return undefined;
    run.claim = takeClaim(token, leaseMs, now);
    return load(run, 0, MOST_PAGE_EVENTS);
  }

  async renew(runId: string, token: string, leaseMs: number): Promise<boolean> {
    const run = this.#runs.get(runId);
    if (run?.claim?.token !== token) return false;
    run.claim = takeClaim(token, leaseMs, this.#now());
    return true;
  }

  async release(runId: string, token: string): Promise<void> {
    const run = this.#runs.get(runId);
    if (run?.claim?.token === token) run.claim = undefined;
  }

  async due(limit: number, agents?: readonly string[]): Promise<readonly string[]> {
    const now = this.#now();
    const due: { readonly id: string; readonly dueAt: number }[] = [];
    for (const { id, record, dueAt, claim } of this.#runs.values()) {
      if (agents !== undefined && !agents.includes(record.agent)) continue;
      if (dueAt !== null && dueAt <= now && (claim === undefined || claim.until <= now)) due.push({ id, dueAt });
    }
    due.sort((a, b) => a.dueAt - b.dueAt);
    return due.slice(0, limit).map(({ id }) => id);
  }

  async takeReminders(limit: number, leaseMs: number): Promise<readonly TakenReminder[]> {
    const now = this.#now();
    const due = [...this.#reminders].filter(([id, { dueAt }]) => dueAt <= now && !this.#hasExpired(id, now));
    due.sort(([, a], [, b]) => a.dueAt - b.dueAt);
    return due.slice(0, limit).flatMap(([id, { attempts }]) => {
      const pauseMs = Math.ceil(leaseMs) * 2 ** Math.min(attempts, MOST_DOUBLINGS);
      this.#reminders.set(id, { dueAt: now + pauseMs, attempts: attempts + 1 });
      const interrupt = this.#interrupts.get(id);
      return interrupt === undefined ? [] : [{ interrupt: recordOf(interrupt), attempt: attempts + 1 }];
    });
  }

  async reminded(interruptId: string): Promise<void> {
    this.#reminders.delete(interruptId);
  }

  async listRuns(query: RunQuery): Promise<Page<RunRecord>> {
    const found = collect(this.#sortedRuns, query.order ?? 'newest', query, ({ record }) => isAskedRun(record, query));
    return makePage(found, query, recordOf, (place) => place);
  }

  async listInterrupts(query: InterruptQuery): Promise<Page<InterruptRecord>> {
    const list = query.settled === true ? this.#settled : this.#waiting;
    const words = searchWords(query.search);
    const isFound = ({ record, searchText }: KeptInterrupt): boolean =>
      isAskedInterrupt(record, query) && words.every((word) => searchText.includes(word));
    const found = collect(list, query.order ?? 'oldest', query, isFound);
    return makePage(found, query, recordOf, (place) => place);
  }

  async interrupt(id: string): Promise<InterruptRecord | undefined> {
    const interrupt = this.#interrupts.get(id);
    return interrupt === undefined ? undefined : recordOf(interrupt);
  }

  async countRuns(): Promise<RunCounts> {
    const counts = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
    for (const { record } of this.#runs.values()) counts[record.status] += 1;
    return counts;
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const request = readStatsQuery(query, this.#now());
    const records = [...this.#interrupts.values()].map(({ record }) => record);
    return statsOf(memoryStats(records, request), request);
  }

  async now(): Promise<number> {
    return this.#now();
  }

  watch(changed: (runId: string) => void): () => void {
    return this.#watchers.add(changed);
  }

  async migrate(): Promise<void> {}

  async close(): Promise<void> {
    await this.#watchers.clear();
  }

  #isPending(id: string, runId: string): boolean {
    const record = this.#interrupts.get(id)?.record;
    return record?.runId === runId && record.settledAt === null;
  }

  #open(record: InterruptRecord): void {
    const interrupt = { createdAt: record.createdAt, seq: ++this.#made, record, searchText: searchTextOf(record) };
    this.#interrupts.set(record.id, interrupt);
    this.#waiting.add(interrupt);
    if (record.remindAt !== null) this.#reminders.set(record.id, { dueAt: record.remindAt, attempts: 0 });
  }

  #hasExpired(id: string, now: number): boolean {
    return (this.#interrupts.get(id)?.record.expiresAt ?? Number.POSITIVE_INFINITY) <= now;
  }

  #settle(id: string, settlement: Json, now: number): void {
    const waiting = this.#interrupts.get(id);
    if (waiting === undefined) return;
    const interrupt = { ...waiting, record: { ...waiting.record, settledAt: now, settlement } };
    this.#interrupts.set(id, interrupt);
    this.#reminders.delete(id);
    this.#waiting.remove(waiting);
    this.#settled.add(interrupt);
  }
}

function recordAfter(append: Append, before: RunRecord | undefined, now: number): RunRecord {
  const { runId: id, create, events, hash, status, wakeAt, outcome } = append;
  const { agent = '', startedBy = null, createdAt } = before ?? { ...create, createdAt: now };
  const version = append.expectedVersion + events.length;
  return { id, agent, status, version, hash, startedBy, createdAt, updatedAt: now, wakeAt, outcome };
}

function load({ record, events }: KeptRun, after: number, limit: number): LoadedRun {
  const page: StoredEvent[] = [];
  let size = 0;
  for (const text of events.slice(after, after + limit)) {
    if (size >= FULL_PAGE_SIZE) break;
    page.push(JSON.parse(text));
    size += text.length;
  }
  return { run: copy(record), events: page };
}

/** One item more than the page holds, to know whether another page follows. */
function collect<T extends Place>(
  list: SortedList<T>,
  order: Order,
  query: { readonly after?: string; readonly limit: number },
  isAsked: (item: T) => boolean,
): T[] {
  const { after, limit } = readPageRequest(query);
  const found: T[] = [];
  for (const item of list.walk(order, after)) {
    if (isAsked(item)) found.push(item);
    if (found.length > limit) break;
  }
  return found;
}

function isAskedRun(run: RunRecord, { status, agent, startedBy }: RunQuery): boolean {
  return fits(run.status, status) && fits(run.agent, agent) && fits(run.startedBy, startedBy);
}

function isAskedInterrupt(interrupt: InterruptRecord, query: InterruptQuery): boolean {
  const { createdBefore = Number.POSITIVE_INFINITY, createdAfter = Number.NEGATIVE_INFINITY, label, outcome } = query;
  return (
    fits(interrupt.runId, query.runId) &&
    fits(interrupt.agent, query.agent) &&
    fits(interrupt.tool, query.tool) &&
    fits(interrupt.kind, query.kind) &&
    fits(interrupt.risk, query.risk) &&
    fits(interrupt.startedBy, query.startedBy) &&
    (outcome === undefined || (interrupt.settledAt !== null && hasOutcome(outcomeOf(interrupt.settlement), outcome))) &&
    (label === undefined || interrupt.labels.includes(label)) &&
    interrupt.createdAt < createdBefore &&
    interrupt.createdAt > createdAfter
  );
}

function recordOf<T>({ record }: { readonly record: T }): T {
  return copy(record);
}

function fits<T>(value: T, asked: T | undefined): boolean {
  return asked === undefined || value === asked;
}

/** Copies through JSON text, as every store does, so that callers share nothing with the store. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
