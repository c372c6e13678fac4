// Fan-out: takes requests with news, and puts a hint for each registered channel. Only then does the store count them as told, so a
// crash in between repeats hints and loses none.
import { Turn } from '../port/in-turns.ts';
import type { RequestRecord, Store } from '../port/store.ts';
import type { Channel } from './channel.ts';
import { KEPT_MS } from './entries.ts';
import { Hints } from './hints.ts';
import { type RegisteredChannel, Registry } from './registry.ts';

/** A store that says which requests have news. */
export type TellingStore = Store & Required<Pick<Store, 'takeUntold' | 'told'>>;

/** How many requests are taken at once. */
const BATCH = 100;
/** When another process may take a request whose process died. */
const LEASE_MS = 30_000;
/** How often a process says that it has its channels. */
const REGISTER_EVERY_MS = 600_000;

export type FanOutOptions = {
  readonly store: TellingStore;
  /** Those of this process. */
  readonly channels: readonly Channel[];
  /** The store's time. */
  readonly now: () => number;
  readonly isStopping: () => boolean;
  /** Called when the channel has new hints. */
  readonly onHints: (channel: string) => void;
};

export class FanOut {
  readonly #options: FanOutOptions;
  readonly #registry: Registry;
  #registerAt = 0;

  constructor(options: FanOutOptions) {
    this.#options = options;
    this.#registry = new Registry(options.store.notes);
  }

  /** Puts hints for everything that has news now. */
  async pass(): Promise<void> {
    const { store, now, isStopping } = this.#options;
    await this.#register();
    const turn = new Turn();
    for (let isMore = true; isMore && !isStopping(); ) {
      const taken = await store.takeUntold(BATCH, LEASE_MS);
      if (taken.length === 0) return;
      // Read after the take: a channel that is registered later announces the requests that are pending then.
      const channels = await this.#registry.list(now());
      await Promise.all(
        taken.map(async ({ request, news }) => {
          await this.#hint(channels, request, `n${news}`);
          await store.told(request.id, news);
        }),
      );
      for (const { name } of channels) this.#options.onHints(name);
      isMore = taken.length === BATCH;
      if (turn.isLong) await turn.pass();
    }
  }

  async #register(): Promise<void> {
    const { channels, now } = this.#options;
    const steady = performance.now();
    if (steady < this.#registerAt) return;
    await this.#registry.register(channels, now());
    for (const channel of await this.#registry.list(now())) if (channel.announcing) await this.#announce(channel);
    this.#registerAt = steady + REGISTER_EVERY_MS;
  }

  /** Puts hints for the requests that were pending when the channel was registered. Continues where a process stopped. */
  async #announce(channel: RegisteredChannel): Promise<void> {
    const { store, onHints } = this.#options;
    for (let current = channel; current.announcing; ) {
      const { after } = current.announcing;
      const page = await store.listRequests({ order: 'oldest', limit: BATCH, ...(after !== null && { after }) });
      await Promise.all(page.items.map((request) => this.#hint([channel], request, 'first')));
      if (!(await this.#registry.announced(current, page.cursor))) return;
      current = { ...current, announcing: page.cursor === null ? null : { after: page.cursor } };
      onHints(channel.name);
    }
  }

  async #hint(channels: readonly RegisteredChannel[], { id, settledAt }: RequestRecord, cause: string): Promise<void> {
    const { store, now } = this.#options;
    // A rebuilt list marks old requests again, and the entries of their sent notices are gone.
    if (settledAt !== null && settledAt < now() - KEPT_MS) return;
    const asked = channels.filter(({ since }) => settledAt === null || settledAt >= since);
    const hint = { dueAt: now(), requestId: id, person: null, cause };
    await Promise.all(asked.map(({ name }) => new Hints(store.notes, name).put(hint)));
  }
}
