// Reads a run page by page, so that a long run does not block the event loop.
import { setImmediate } from 'node:timers/promises';
import { UNREADABLE } from './chain.ts';
import type { LoadedRun, Store, StoredEvent } from './store.ts';

type Reader = Pick<Store, 'read'>;

/** Reads the run with all events after the first `after`. Undefined if it does not exist. */
export async function readRun(store: Reader, runId: string, after = 0): Promise<LoadedRun | undefined> {
  const first = await store.read(runId, { after });
  return first && readOn(store, first, after);
}

/** Completes a run as it was when its first page was read, even if others append meanwhile. Undefined if it was deleted. */
export async function readOn(store: Reader, first: LoadedRun, after = 0): Promise<LoadedRun | undefined> {
  const { run } = first;
  const events: StoredEvent[] = [];
  for (let page = first; ; ) {
    if (page.events === UNREADABLE) return { run, events: UNREADABLE };
    const isWhole = after + events.length + page.events.length >= run.version;
    if (isWhole && page === first) return first;
    for (const event of page.events) events.push(event);
    // Without another page, events are missing, which the caller finds out.
    if (isWhole || page.events.length === 0) return { run, events: events.slice(0, Math.max(0, run.version - after)) };
    await setImmediate();
    const next = await store.read(run.id, { after: after + events.length });
    if (!next) return undefined;
    page = next;
  }
}
