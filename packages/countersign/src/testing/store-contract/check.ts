// Helpers of the store contract: the appends that it makes, and how it checks the results.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError, type ErrorCode, UsageError } from '../../core/errors.ts';
import type { Append, InterruptRecord, LoadedRun, Page, Store, StoredEvent } from '../../runs/port/store.ts';

/** A fresh store without runs. */
export type StoreUnderTest = {
  readonly store: Store;
  /** Another store on the same data, as another process would have. Absent if there can be none. */
  readonly another?: () => Promise<Store>;
  /** Moves the clock of the store. Absent if it runs by itself: then the tests wait for real, a little. */
  readonly advance?: (ms: number) => void | Promise<void>;
  /** Called after each test; closes everything. */
  readonly close: () => Promise<void>;
};

/** Explains a missing `store`, instead of failing on something undefined. */
export function checkedSubject(what: string, subject: StoreUnderTest): StoreUnderTest {
  if (typeof subject?.store?.append === 'function' && typeof subject.close === 'function') return subject;
  throw new UsageError(
    'invalid-options',
    {},
    `\`${what}\` must return { store, close }, and \`advance\` and \`another\` if it can.`,
  );
}

export type Check = (name: string, body: (subject: StoreUnderTest) => Promise<void>) => void;

export type OpenedInterrupt = Append['opened'][number];

/** Longer than any test takes. */
export const LONG_MS = 600_000;

/** An event that can be told from others. */
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

/** Adds one event to a run that exists. */
export function addition(runId: string, expectedVersion: number, given: Partial<Append> = {}): Append {
  const { create: _, ...append } = creation(runId);
  return { ...append, expectedVersion, events: [stepDone(`${runId}-${expectedVersion}`)], ...given };
}

export function interrupt(id: string, runId: string, given: Partial<OpenedInterrupt> = {}): OpenedInterrupt {
  return {
    ...{ id, runId, agent: 'agent', tool: 'tool', kind: 'approval', risk: null, labels: [], createdAt: 1_000 },
    ...{ expiresAt: null, remindAt: null, card: { question: id }, digest: `digest of ${id}` },
    ...given,
  };
}

/** A run that waits with these interrupts, all opened by its one append. */
export async function pausedRun(store: Store, runId: string, opened: readonly OpenedInterrupt[]): Promise<void> {
  await store.append(creation(runId, { status: 'waiting', opened }));
}

export async function load(store: Store, runId: string): Promise<LoadedRun> {
  const loaded = await store.read(runId);
  ok(loaded !== undefined, `There is no run ${runId}.`);
  return loaded;
}

export async function refused(append: Promise<unknown>, code: ErrorCode): Promise<void> {
  const check = (error: unknown) => {
    ok(error instanceof CountersignError, `Not an error of Countersign: ${error}`);
    strictEqual(error.code, code, `refused as ${error.code}, and not as ${code}: ${error.message}`);
    return true;
  };
  await rejects(append, check, `It must be refused as ${code}, but was accepted.`);
}

/** Everything that a run and the interrupts with these ids are made of, to be compared with later. */
export async function snapshot(
  store: Store,
  runIds: readonly string[],
  interruptIds: readonly string[],
): Promise<unknown> {
  const runs = await Promise.all(runIds.map((id) => store.read(id)));
  const interrupts = await Promise.all(interruptIds.map((id) => store.interrupt(id)));
  const due = await store.due(100);
  return { runs, interrupts, due };
}

/** The append is refused with this code, and whatever it would have touched is as before. */
export async function leavesNothing(
  store: Store,
  append: Append,
  code: ErrorCode,
  interruptIds: readonly string[] = [],
): Promise<void> {
  const before = await snapshot(store, [append.runId], interruptIds);
  await refused(store.append(append), code);
  deepStrictEqual(await snapshot(store, [append.runId], interruptIds), before);
}

/** Lets time pass, on the clock of the store. */
export async function pass({ advance }: StoreUnderTest, ms: number): Promise<void> {
  if (advance !== undefined) await advance(ms);
  else await delay(ms + 5);
}

/** How many of them were done; those that were not must have been refused with this code. */
export async function countDone(appends: readonly Promise<unknown>[], refusal: ErrorCode): Promise<number> {
  let done = 0;
  for (const result of await Promise.allSettled(appends)) {
    if (result.status === 'fulfilled') done += 1;
    else strictEqual((result.reason as { code?: unknown }).code, refusal, String(result.reason));
  }
  return done;
}

export function ids(items: readonly Pick<InterruptRecord, 'id'>[]): readonly string[] {
  return items.map(({ id }) => id);
}

/** Every page from the first to the last. */
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
