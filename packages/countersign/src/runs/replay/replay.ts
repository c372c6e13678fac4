// Replays the calls of a period under other rules, policies and grants: what would change, and for which calls.

import type { Grant, GrantEvent } from '../../core/authority/grants/grant.ts';
import { type OfferedGrant, offeredGrant } from '../../core/authority/grants/grant-offer.ts';
import { type Change, changeOf, judgeAgain, type PastRules } from '../../core/authority/judge-again.ts';
import { defined } from '../../core/json.ts';
import { isDrill } from '../../core/run/drill.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import { fits } from '../grants/give.ts';
import { GrantRecords } from '../grants/records.ts';
import { Turn } from '../port/in-turns.ts';
import { readRun } from '../port/read-run.ts';
import type { RunRecord, Store } from '../port/store.ts';
import { type PastDecision, pastCalls, type RecordedCall } from './past-calls.ts';

/** A call that is counted, with the request or run that it is in. */
export type ReplayedCall = Pick<RecordedCall, 'id' | 'runId' | 'tool' | 'at' | 'title' | 'decided'> & {
  /** Why it cannot be replayed. */
  readonly why?: string;
};

/** How many calls, how people had decided them, and the newest of them. */
export type ReplayedCalls = { readonly [decided in PastDecision]: number } & {
  readonly count: number;
  readonly calls: readonly ReplayedCall[];
};

/** What would change. Calls count by when their run began. */
export type Replayed = {
  readonly since: number;
  readonly runs: number;
  readonly calls: number;
  /** How many calls nothing changes for. */
  readonly same: number;
  readonly changes: { readonly [change in Change]: ReplayedCalls };
  /** Runs that cannot be read. */
  readonly unread: number;
};

export type ReplayOptions = {
  /** Runs that began at this time or later. */
  readonly since: number;
  /** Grants that cover calls as if they had been given before the first one. */
  readonly grants?: readonly (OfferedGrant & { readonly schema?: { readonly [key: string]: unknown } })[];
  readonly among?: (run: RunRecord) => boolean | Promise<boolean>;
  /** Called with the number of runs so far. */
  readonly onProgress?: (runs: number) => void;
};

const PAGE = 100;
/** Of each change. */
export const MOST_CALLS = 100;

/** Keeps one page of runs at a time, and the newest calls of each change. */
export async function replayCalls(
  store: Store,
  rules: PastRules,
  toolNamed: (name: string) => ToolDefinition | undefined,
  { since, grants = [], among = () => true, onProgress }: ReplayOptions,
): Promise<Replayed> {
  const known = { toolNamed, grantNamed: grantsOf(store) };
  const offers: (readonly GrantEvent[])[] = grants.map(offeredGrant);
  const counts = new Map<Change, Counted>();
  const turn = new Turn();
  let [runs, calls, unread] = [0, 0, 0];
  for await (const run of oldestFirst(store, since)) {
    if (turn.isLong) await turn.pass();
    if (isDrill(run) || !(await among(run))) continue;
    runs += 1;
    if (runs % PAGE === 0) onProgress?.(runs);
    const found = await readCalls(run.id);
    if (!found) unread += 1;
    for (const call of found ?? []) {
      calls += 1;
      const key = call.id;
      const open = grants.map((grant, place) => ({
        ...{ key, events: offers[place] ?? [] },
        fitsSchema: fits(grant, call.input),
      }));
      const now = judgeAgain(call, rules, open);
      if (now.then === 'grant' && now.offer) offers[now.offer.place] = now.offer.events;
      const change = changeOf(call, now);
      if (change) count(counts, change, call, now.then === 'unknown' ? now.why : undefined);
    }
  }
  onProgress?.(runs);
  const changed = [...counts.values()].reduce((sum, one) => sum + one.count, 0);
  const of = (change: Change): ReplayedCalls => counts.get(change) ?? nothing();
  const [newlyRuns, asks, second] = [of('runs'), of('asks'), of('second')];
  const changes = { runs: newlyRuns, asks, second, others: of('others'), denied: of('denied'), unknown: of('unknown') };
  return { since, runs, calls, same: calls - changed, changes, unread };

  async function readCalls(id: string): Promise<readonly RecordedCall[] | undefined> {
    try {
      const loaded = await readRun(store, id);
      return loaded ? await pastCalls(loaded, known) : [];
    } catch {
      // A damaged run, or one of a later release, keeps nobody from the others.
      return undefined;
    }
  }
}

type Counted = { -readonly [field in keyof ReplayedCalls]: ReplayedCalls[field] } & { calls: ReplayedCall[] };

const nothing = (): Counted => ({ count: 0, approved: 0, edited: 0, rejected: 0, other: 0, calls: [] });

function count(counts: Map<Change, Counted>, change: Change, call: RecordedCall, why: string | undefined): void {
  const counted = counts.get(change) ?? nothing();
  counts.set(change, counted);
  const { id, runId, tool, at, title, decided } = call;
  counted.count += 1;
  counted[decided] += 1;
  counted.calls.push({ id, runId, tool, at, decided, ...defined({ title, why }) });
  if (counted.calls.length > MOST_CALLS) counted.calls.shift();
}

/** Lists the runs twice: the newest first to find the pages, and then the pages from the last. Runs that begin meanwhile are left out. */
async function* oldestFirst(store: Store, since: number): AsyncGenerator<RunRecord> {
  const list = (after: string | undefined) => store.listRuns({ order: 'newest', limit: PAGE, ...defined({ after }) });
  // Behind a cursor a page stays as it is; the first one gets new runs.
  const first = await list(undefined);
  const pages: string[] = [];
  for (let page = first; page.cursor !== null && page.items.every(({ createdAt }) => createdAt >= since); ) {
    pages.push(page.cursor);
    page = await list(page.cursor);
  }
  const isWanted = ({ createdAt }: RunRecord): boolean => createdAt >= since;
  for (const after of pages.toReversed()) yield* (await list(after)).items.filter(isWanted).toReversed();
  yield* first.items.filter(isWanted).toReversed();
}

/** Each grant is read once. */
function grantsOf({ notes }: Store): (id: string) => Promise<Grant | undefined> {
  const records = new GrantRecords(notes);
  const read = new Map<string, Promise<Grant | undefined>>();
  return (id) => {
    const known = read.get(id);
    if (known !== undefined) return known;
    const reading = records.read(id).then(
      ({ state }) => state.grant,
      () => undefined,
    );
    read.set(id, reading);
    return reading;
  };
}
