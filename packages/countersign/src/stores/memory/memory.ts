// The store in the memory of this process, for tests and for runs that need not outlive it.
import { anything, checkOptions } from '../../core/options.ts';
import { forEachInTurns } from '../../runs/port/in-turns.ts';
import { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from '../../runs/port/page.ts';
import {
  type AgentQueue,
  type Append,
  FREEZES,
  type LoadedRun,
  type RequestQuery,
  type RequestRecord,
  type RunQuery,
  type RunRecord,
  type RunStatus,
  type Store,
  type StoredEvent,
} from '../../runs/port/store.ts';
import { type Claim, claimAfter, mayTake, takeClaim } from '../rules/claim.ts';
import { type PendingTool, pendingRows, SettledPart } from '../rules/count-stats.ts';
import { askedKeys, keysOf, STARTER } from '../rules/deciders.ts';
import { dueAfter } from '../rules/due.ts';
import { createNotes } from '../rules/notes.ts';
import { endedAs, hasOutcome, outcomeOf, unaskedAs } from '../rules/outcomes.ts';
import { isBySettlement, makePage, type Order, type Place, readEventLimit, readPageRequest } from '../rules/page.ts';
import { checkAppend, refusalOf } from '../rules/refusals.ts';
import { searchTextOf, searchWords } from '../rules/search-text.ts';
import { DAY_MS, readStatsQuery, statsOf } from '../rules/stats.ts';
import { createWatchers } from '../rules/watchers.ts';
import { MemoryNotes } from './notes.ts';
import { UntoldMarks } from './untold.ts';

/** Keeps runs in memory: nothing to start, nothing left when the process ends. `now` is the clock, in milliseconds. */
export function memoryStore(options: { readonly now?: () => number } = {}): Store {
  checkOptions('`memoryStore`', options, { now: anything });
  const { now = Date.now } = options;
  return storeWith(() => Math.floor(now()));
}

/** How callers get what the store keeps, so that they share nothing with it that they could change. */
export type HandOut = { event(text: string): StoredEvent; record<T extends object>(record: T): T };

const COPIES: HandOut = { event: (text) => JSON.parse(text), record: copy };

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

type KeptRequest = Place & { readonly record: RequestRecord; readonly searchText: string; readonly size: number };

/** `handOut`: copies, unless a simulation wants them frozen, which is faster. */
export function storeWith(clock: () => number, handOut = COPIES): Store {
  const recordOf = <T extends object>({ record }: { readonly record: T }): T => handOut.record(record);
  const runs = new Map<string, KeptRun>();
  const deleted = new Set<string>();
  const requests = new Map<string, KeptRequest>();
  const untold = new UntoldMarks(clock);
  const notes = new MemoryNotes(clock);
  const watchers = createWatchers();
  /** How many runs and requests were created. Numbers are never used again. */
  let made = 0;

  function open(opened: Omit<KeptRequest, keyof Place>): void {
    made += 1;
    const { record } = opened;
    requests.set(record.id, { createdAt: record.createdAt, seq: made, ...opened });
    if (record.settledAt === null) untold.mark(record.id);
  }

  function change(id: string, changed: Partial<RequestRecord>): void {
    const kept = requests.get(id) as KeptRequest;
    requests.set(id, { ...kept, record: { ...kept.record, ...changed } });
  }

  const isPending = (id: string, runId: string): boolean => {
    const record = requests.get(id)?.record;
    return record?.runId === runId && record.settledAt === null;
  };

  return {
    notes: createNotes(notes),

    async append(append) {
      checkAppend(append);
      const { runId, claim } = append;
      const now = append.at ?? clock();
      const before = runs.get(runId);
      const stored = {
        run: deleted.has(runId) ? 'deleted' : before && { version: before.record.version, claim: before.claim },
        isInterrupt: (id: string) => requests.has(id),
        isPending: (id: string) => isPending(id, runId),
        freezes: append.freezes === undefined ? undefined : notes.versionOf(...FREEZES),
      } as const;
      const refusal = refusalOf(append, stored, now);
      if (refusal) throw refusal;
      // Everything is prepared before anything is kept, so that a failure leaves no part of it behind.
      const { startedBy = null } = before?.record ?? append.create ?? {};
      const events = append.events.map((event) => JSON.stringify(event));
      const opened = append.opened.map((request) => {
        const { progress = null, settlement, outcome = null } = request;
        const text = JSON.stringify({
          ...request,
          progress,
          startedBy,
          settledAt: settlement === undefined ? null : now,
          settlement: settlement ?? null,
          outcome,
        });
        const record: RequestRecord = JSON.parse(text);
        return { record, searchText: searchTextOf(record), size: text.length };
      });
      const settled = append.settled.map(({ id, settlement, outcome = null }) => {
        return { id, settlement: copy(settlement), outcome: outcome && copy(outcome) };
      });
      const progressed = (append.progressed ?? []).map(copy);
      const ended = (append.ended ?? []).map(copy);
      const record = copy(recordAfter(append, before?.record, now));

      const dueAt = dueAfter(append, before && { status: before.record.status, dueAt: before.dueAt }, now);
      made += 1;
      const run: KeptRun = before ?? {
        createdAt: now,
        seq: made,
        id: runId,
        record,
        events: [],
        claim: undefined,
        dueAt,
      };
      runs.set(runId, run);
      run.record = record;
      run.dueAt = dueAt;
      for (const event of events) run.events.push(event);
      run.claim = claimAfter(append, run.claim, now);
      for (const request of opened) open(request);
      for (const { id, settlement, outcome } of settled) {
        change(id, { settledAt: now, settlement, outcome });
        untold.mark(id);
      }
      for (const { id, ...changed } of progressed) {
        change(id, changed);
        untold.mark(id);
      }
      for (const { id, outcome } of ended) {
        if (requests.get(id)?.record.runId !== runId) continue;
        change(id, { outcome });
        if (!unaskedAs(requests.get(id)?.record.settlement)) untold.mark(id);
      }
      watchers.notify(runId);
      return { claimed: claim !== undefined && run.claim?.token === claim.token };
    },

    async read(runId, { after = 0, limit } = {}) {
      const run = runs.get(runId);
      const most = readEventLimit(limit);
      return run && load(run, after, most, handOut);
    },

    async delete(runId) {
      const run = runs.get(runId);
      if (run === undefined || !ENDED.has(run.record.status) || !mayTake('', run.claim, clock())) return false;
      deleted.add(runId);
      runs.delete(runId);
      for (const [id, { record }] of requests) {
        if (record.runId !== runId) continue;
        requests.delete(id);
        untold.delete(id);
      }
      watchers.notify(runId);
      return true;
    },

    async claim(runId, token, leaseMs) {
      const run = runs.get(runId);
      if (run === undefined || !mayTake(token, run.claim, clock())) return undefined;
      run.claim = takeClaim(token, leaseMs, clock());
      return load(run, 0, MOST_PAGE_EVENTS, handOut);
    },

    async renew(runId, token, leaseMs) {
      const run = runs.get(runId);
      if (run?.claim?.token !== token) return false;
      run.claim = takeClaim(token, leaseMs, clock());
      return true;
    },

    async release(runId, token) {
      const run = runs.get(runId);
      if (run?.claim?.token === token) run.claim = undefined;
    },

    async due(limit, agents) {
      const now = clock();
      const due: { readonly id: string; readonly dueAt: number }[] = [];
      for (const { id, record, dueAt, claim } of runs.values()) {
        if (agents !== undefined && !agents.includes(record.agent)) continue;
        if (dueAt !== null && dueAt <= now && (claim === undefined || claim.until <= now)) due.push({ id, dueAt });
      }
      due.sort((a, b) => a.dueAt - b.dueAt);
      return due.slice(0, limit).map(({ id }) => id);
    },

    async queue() {
      const now = clock();
      const queues = new Map<string, AgentQueue>();
      for (const { record, dueAt, claim } of runs.values()) {
        if (dueAt === null || dueAt > now) continue;
        const { agent } = record;
        const { due, dueSince, claimed } = queues.get(agent) ?? { due: 0, dueSince: null, claimed: 0 };
        const since = Math.max(dueAt, claim?.until ?? 0);
        if (since > now) queues.set(agent, { agent, due, dueSince, claimed: claimed + 1 });
        else queues.set(agent, { agent, due: due + 1, dueSince: Math.min(since, dueSince ?? since), claimed });
      }
      return [...queues.values()].sort((a, b) => Buffer.compare(Buffer.from(a.agent), Buffer.from(b.agent)));
    },

    async takeUntold(limit, leaseMs) {
      return untold.take(limit, leaseMs).map(({ id, news }) => {
        return { request: recordOf(requests.get(id) as KeptRequest), news };
      });
    },

    async told(requestId, news) {
      untold.told(requestId, news);
    },

    async listRuns(query) {
      const asked: KeptRun[] = [];
      await forEachInTurns(runs.values(), (run) => isAskedRun(run.record, query) && asked.push(run));
      return makePage(inOrder(asked, query.order ?? 'newest', query), query, recordOf, placeOf, outcomeSize);
    },

    async listRequests(query) {
      const words = searchWords(query.search);
      const asked: KeptRequest[] = [];
      await forEachInTurns(requests.values(), (request) => {
        const { record, searchText } = request;
        if (isAskedInterrupt(record, query) && words.every((word) => searchText.includes(word))) asked.push(request);
      });
      const placed = isBySettlement(query) ? asked.map(bySettlement) : asked;
      return makePage(inOrder(placed, query.order ?? 'oldest', query), query, recordOf, placeOf, ({ size }) => size);
    },

    async request(id) {
      const request = requests.get(id);
      return request && recordOf(request);
    },

    async countRuns() {
      const counts = { running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
      await forEachInTurns(runs.values(), ({ record }) => {
        counts[record.status] += 1;
      });
      return counts;
    },

    async stats(query) {
      const request = readStatsQuery(query, clock());
      const { since, until, startedBy } = request;
      const waiting = new Map<string, PendingTool>();
      const parts = new Map<number, SettledPart>();
      await forEachInTurns(requests.values(), ({ record }) => {
        const { tool, createdAt, settledAt } = record;
        if (startedBy !== undefined && record.startedBy !== startedBy) return;
        if (settledAt === null) {
          const known = waiting.get(tool);
          const oldest = Math.min(known?.oldest_at ?? createdAt, createdAt);
          waiting.set(tool, { tool, waiting: (known?.waiting ?? 0) + 1, oldest_at: oldest });
        } else if (settledAt >= since && settledAt <= until) {
          const day = Math.floor(settledAt / DAY_MS);
          const part = parts.get(day) ?? new SettledPart(settledAt);
          parts.set(day, part);
          part.add({ ...record, settledAt, outcome: outcomeOf(record.settlement).outcome });
        }
      });
      return statsOf([...pendingRows([...waiting.values()]), ...SettledPart.rows(parts.values())], request);
    },

    now: async () => clock(),
    watch: (changed) => watchers.add(changed),
    migrate: async () => undefined,
    close: () => watchers.clear(),
  };
}

function recordAfter(append: Append, before: RunRecord | undefined, now: number): RunRecord {
  const { runId: id, create, events, hash, status, wakeAt, outcome } = append;
  const { agent = '', startedBy = null, createdAt } = before ?? { ...create, createdAt: now };
  const version = append.expectedVersion + events.length;
  return { id, agent, status, version, hash, startedBy, createdAt, updatedAt: now, wakeAt, outcome };
}

function load({ record, events }: KeptRun, after: number, limit: number, handOut: HandOut): LoadedRun {
  const page: StoredEvent[] = [];
  let size = 0;
  for (const text of events.slice(after, after + limit)) {
    if (size >= FULL_PAGE_SIZE) break;
    page.push(handOut.event(text));
    size += text.length;
  }
  return { run: handOut.record(record), events: page };
}

/** The items behind the cursor, in this order. */
function inOrder<T extends Place>(
  items: T[],
  order: Order,
  query: Parameters<typeof readPageRequest>[0],
): readonly T[] {
  const { after } = readPageRequest(query);
  const direction = order === 'oldest' ? 1 : -1;
  const compare = (a: Place, b: Place): number => direction * (a.createdAt - b.createdAt || a.seq - b.seq);
  return items.filter((item) => after === undefined || compare(item, after) > 0).sort(compare);
}

function isAskedRun(run: RunRecord, { status, agent, startedBy }: RunQuery): boolean {
  return fits(run.status, status) && fits(run.agent, agent) && fits(run.startedBy, startedBy);
}

function isAskedInterrupt(request: RequestRecord, query: RequestQuery): boolean {
  const { createdBefore = Number.POSITIVE_INFINITY, createdAfter = Number.NEGATIVE_INFINITY, label, outcome } = query;
  return (
    (request.settledAt !== null) === (query.settled === true) &&
    fits(request.runId, query.runId) &&
    fits(request.agent, query.agent) &&
    fits(request.tool, query.tool) &&
    fits(request.kind, query.kind) &&
    fits(request.risk, query.risk) &&
    fits(request.startedBy, query.startedBy) &&
    (outcome === undefined ||
      (request.settledAt !== null &&
        hasOutcome(outcomeOf(request.settlement), { ended: endedAs(request.outcome), kind: request.kind }, outcome))) &&
    (label === undefined || request.labels.includes(label)) &&
    request.createdAt < createdBefore &&
    request.createdAt > createdAfter &&
    (query.settledSince === undefined || (request.settledAt ?? Number.NaN) >= query.settledSince) &&
    (query.settledBefore === undefined || (request.settledAt ?? Number.NaN) < query.settledBefore) &&
    (query.deciders === undefined || hasKey(request, askedKeys(query.deciders)))
  );
}

function hasKey({ deciders, startedBy }: RequestRecord, keys: readonly string[]): boolean {
  return [...keysOf(deciders), ...(startedBy === null ? [] : [STARTER + startedBy])].some((key) => keys.includes(key));
}

const placeOf = (kept: Place): Place => kept;
const bySettlement = (kept: KeptRequest): KeptRequest => ({ ...kept, createdAt: Number(kept.record.settledAt) });
const outcomeSize = ({ record }: KeptRun): number => JSON.stringify(record.outcome).length;

function fits<T>(value: T, asked: T | undefined): boolean {
  return asked === undefined || value === asked;
}

/** Copies through JSON text, as every store does, so that callers share nothing with the store. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
