// Notices changed assignees across processes. A store reports changes of runs only, so the notes of all assignees are read once a second while
// clients stream. All streams of this process share that read.
import { setTimeout as delay } from 'node:timers/promises';
import type { Notes } from 'countersign/store';
import { assigneeVersions } from '../assignees.ts';

const LOOK_MS = 1_000;
/** Reading takes at most one part in so many of the time, however many notes exist. */
const SHARE = 20;

export class AssigneeWatch {
  readonly #notes: Notes;
  readonly #changed: (requestId: string) => void;
  #followers = 0;
  #stopping = new AbortController();
  #woken = Promise.withResolvers<void>();

  /** Calls `changed` with the request id of each changed note. */
  constructor(notes: Notes, changed: (requestId: string) => void) {
    this.#notes = notes;
    this.#changed = changed;
  }

  /** Watches assignees until the returned function is called. */
  follow(): () => void {
    this.#followers += 1;
    if (this.#followers === 1) {
      this.#stopping = new AbortController();
      void this.#watch(this.#stopping.signal);
    }
    return () => {
      this.#followers -= 1;
      if (this.#followers === 0) this.#stopping.abort();
    };
  }

  /** Reads at once, because this process changed one. */
  look(): void {
    this.#woken.resolve();
  }

  async #watch(stop: AbortSignal): Promise<void> {
    // At first every note counts as changed: a new client may have read its list before.
    let known: ReadonlyMap<string, number> = new Map();
    while (!stop.aborted) {
      this.#woken = Promise.withResolvers();
      const startedAt = performance.now();
      const found = await assigneeVersions(this.#notes).catch(() => undefined);
      // If the store is unavailable, the next read finds the change.
      if (found && !stop.aborted) {
        for (const requestId of differences(known, found)) this.#changed(requestId);
        known = found;
      }
      const ms = Math.max(LOOK_MS, SHARE * (performance.now() - startedAt));
      const pause = delay(ms, undefined, { signal: stop, ref: false }).catch(() => undefined);
      await Promise.race([this.#woken.promise, pause]);
    }
  }
}

function differences(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): ReadonlySet<string> {
  const keys = new Set([...before.keys(), ...now.keys()]);
  return new Set([...keys].filter((key) => before.get(key) !== now.get(key)));
}
