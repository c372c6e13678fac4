// Helpers of the store contract: the appends that it makes, and the checks of their results.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError, type ErrorCode, UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { readRun } from '../../runs/port/read-run.ts';
import type { Append, ClaimHow, LoadedRun, Page, RequestQuery, Store, StoredEvent } from '../../runs/port/store.ts';

/** A fresh store without runs. */
export type StoreUnderTest = {
  readonly store: Store;
  /** Opens another store on the same data, as another process would. Absent if the store cannot. */
  readonly another?: () => Promise<Store>;
  /** Moves the clock of the store forward. If absent, the tests wait for short times. */
  readonly advance?: (ms: number) => void | Promise<void>;
  /** Called after each test; closes everything. */
  readonly close: () => Promise<void>;
};

/** Throws a clear error if `store` or `close` is missing. */
export function checkedSubject(what: string, subject: StoreUnderTest): StoreUnderTest {
  if (typeof subject?.store?.append === 'function' && typeof subject.close === 'function') return subject;
  throw new UsageError(
    'invalid-options',
    {},
    `\`${what}\` must return { store, close }; \`advance\` and \`another\` are optional.`,
  );
}

export type Check = (name: string, body: (subject: StoreUnderTest) => Promise<void>) => void;

export type OpenedRequest = Append['opened'][number];

/** Any items with ids, such as runs and requests. */
type WithId = { readonly id: string };

/** Longer than any test takes. */
export const LONG_MS = 600_000;

/** An event that the name of its step identifies. */
export function stepDone(step: string, output: unknown = null): StoredEvent {
  return { v: 1, type: 'step-done', callId: 'call', step, output: output as null, at: 1_000 };
}

/** Creates a run with one event. */
export function creation(runId: string, given: Partial<Append> = {}): Append {
  return {
    ...{ runId, expectedVersion: 0, create: { id: runId, agent: 'agent', startedBy: null } },
    ...{ events: [stepDone(`${runId}-0`)], hash: `hash of ${runId}`, status: 'running', wakeAt: null, outcome: null },
    ...{ opened: [], settled: [] },
    ...given,
  };
}

/** Adds one event to an existing run. */
export function addition(runId: string, expectedVersion: number, given: Partial<Append> = {}): Append {
  const { create: _, ...append } = creation(runId);
  return { ...append, expectedVersion, events: [stepDone(`${runId}-${expectedVersion}`)], ...given };
}

export function request(id: string, runId: string, given: Partial<OpenedRequest> = {}): OpenedRequest {
  return {
    ...{ id, runId, agent: 'agent', tool: 'tool', kind: 'approval', risk: null, labels: [], createdAt: 1_000 },
    ...{ expiresAt: null, deciders: null, card: { question: id }, digest: `digest of ${id}` },
    ...given,
  };
}

/** The claim of an append. */
export function claim(how: ClaimHow, token: string, leaseMs = LONG_MS): Pick<Append, 'claim'> {
  return { claim: { how, token, leaseMs } };
}

/** The requests that an append settles, each with this settlement. */
export function settling(settlement: Json, ...settled: readonly string[]): Pick<Append, 'settled'> {
  return { settled: settled.map((id) => ({ id, settlement })) };
}

/** Creates a waiting run that opens these requests. */
export async function pausedRun(store: Store, runId: string, opened: readonly OpenedRequest[]): Promise<void> {
  await store.append(creation(runId, { status: 'waiting', opened }));
}

/** Reads the whole run, in as many pages as needed. */
export async function load(store: Store, runId: string): Promise<LoadedRun> {
  const loaded = await readRun(store, runId);
  ok(loaded !== undefined, `Run ${runId} does not exist.`);
  return loaded;
}

export async function refused(append: Promise<unknown>, code: ErrorCode): Promise<void> {
  const check = (error: unknown) => {
    ok(error instanceof CountersignError, `Expected an error of Countersign, got ${error}`);
    strictEqual(error.code, code, `Expected ${code}, got ${error.code}: ${error.message}`);
    return true;
  };
  await rejects(append, check, `It must be refused as ${code}, but was accepted.`);
}

/** Checks that the append is refused with this code and changes neither its run nor these requests. */
export async function leavesNothing(
  store: Store,
  append: Append,
  code: ErrorCode,
  requestIds: readonly string[] = [],
): Promise<void> {
  const look = async () => ({
    run: await store.read(append.runId),
    requests: await Promise.all(requestIds.map((id) => store.request(id))),
    due: await store.due(100),
  });
  const before = await look();
  await refused(store.append(append), code);
  deepStrictEqual(await look(), before);
}

/** Waits until this much time has passed on the clock of the store. */
export async function pass({ advance }: StoreUnderTest, ms: number): Promise<void> {
  if (advance !== undefined) await advance(ms);
  else await delay(ms + 5);
}

/** Returns `done` or the error code of each append. */
export async function codesOf(appends: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const results = await Promise.allSettled(appends);
  return results.map((result) =>
    result.status === 'fulfilled' ? 'done' : String(result.reason.code ?? result.reason),
  );
}

/** Counts the appends that succeeded, and checks that the others were refused with this code. */
export async function countDone(appends: readonly Promise<unknown>[], refusal: ErrorCode): Promise<number> {
  const codes = await codesOf(appends);
  for (const code of codes) ok(code === 'done' || code === refusal, code);
  return codes.filter((code) => code === 'done').length;
}

export function ids(items: readonly WithId[]): readonly string[] {
  return items.map(({ id }) => id);
}

/** Reads every page, from the first to the last. */
export async function pagesOf<T>(
  list: (after: { readonly after?: string }) => Promise<Page<T>>,
): Promise<readonly (readonly T[])[]> {
  const pages: (readonly T[])[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<T> = await list(cursor === undefined ? {} : { after: cursor });
    pages.push(page.items);
    cursor = page.cursor;
    ok(pages.length < 1_000, 'The pages do not end.');
  }
  return pages;
}

/** Lists the ids of all matching requests, in pages of `limit`. */
export async function listed(store: Store, query: Partial<RequestQuery>, limit = 3): Promise<readonly string[]> {
  const pages = await pagesOf((after) => store.listRequests({ limit, ...query, ...after }));
  for (const page of pages) ok(page.length <= limit);
  return ids(pages.flat());
}
