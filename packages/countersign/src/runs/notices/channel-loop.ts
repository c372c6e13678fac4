// The loop of one channel: takes due hints in their order, and delivers a few at once. A slow or broken channel delays only itself.

import { Turn } from '../port/in-turns.ts';
import type { Store } from '../port/store.ts';
import type { Channel } from './channel.ts';
import type { Deliverer } from './delivering.ts';
import { type Hint, Hints } from './hints.ts';
import { Repeating } from './repeating.ts';

/** How many hints are read at once. */
const PAGE = 100;
/** The most notices of one digest. */
const MOST_TOGETHER = 250;
const CONCURRENCY = 4;
/** How long a process that stops waits for deliveries. */
const STOP_MS = 5_000;

export type ChannelLoopOptions = {
  readonly store: Store;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
};

export class ChannelLoop {
  readonly #options: ChannelLoopOptions;
  readonly #deliverer: Deliverer;
  readonly #hints: Hints;
  readonly #concurrency: number;
  readonly #passes: Repeating;
  readonly #stopping = new AbortController();
  #isStopping = false;
  readonly #running = new Set<Promise<void>>();
  /** The keys of hints that are being delivered. */
  readonly #taken = new Set<string>();

  constructor(channel: Channel, deliverer: Deliverer, options: ChannelLoopOptions) {
    this.#options = options;
    this.#deliverer = deliverer;
    this.#hints = new Hints(options.store.notes, channel.name);
    this.#concurrency = channel.concurrency ?? CONCURRENCY;
    this.#passes = new Repeating(() => this.#pass(), options.onError);
  }

  /** Delivers due notices. */
  wake(): void {
    if (!this.#isStopping) this.#passes.wake();
  }

  /** Waits briefly for deliveries. Unfinished ones are left to other processes. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const timer = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await this.#passes.rested();
    await Promise.all(this.#running);
    clearTimeout(timer);
  }

  /** Goes once through all hints that are due. */
  async #pass(): Promise<void> {
    const turn = new Turn();
    let unfinished: readonly Hint[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const { hints, cursor } = await this.#hints.page(after, PAGE);
      const now = this.#options.now();
      const due = hints.filter(({ dueAt }) => dueAt <= now);
      const isLast = due.length < hints.length || cursor === null;
      const groups = groupsOf([...unfinished, ...due.filter(({ key }) => !this.#taken.has(key))]);
      // A digest may continue on the next page.
      unfinished = isLast ? [] : (groups.pop() ?? []);
      for (const group of groups) {
        while (this.#running.size >= this.#concurrency) await Promise.race(this.#running);
        if (turn.isLong) await turn.pass();
        if (this.#isStopping) return;
        this.#begin(group);
      }
      after = isLast ? null : cursor;
    }
  }

  #begin(hints: readonly Hint[]): void {
    for (const { key } of hints) this.#taken.add(key);
    const delivering = this.#deliverer
      .deliver(hints, this.#stopping.signal)
      .catch(this.#options.onError)
      .finally(() => {
        for (const { key } of hints) this.#taken.delete(key);
        this.#running.delete(delivering);
      });
    this.#running.add(delivering);
  }
}

/** The hints of a digest, which are next to each other, belong together. */
function groupsOf(hints: readonly Hint[]): (readonly Hint[])[] {
  const groups: Hint[][] = [];
  for (const hint of hints) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const isSame = hint.digest && first?.digest && hint.person === first.person && hint.dueAt === first.dueAt;
    if (isSame && group && group.length < MOST_TOGETHER) group.push(hint);
    else groups.push([hint]);
  }
  return groups;
}
