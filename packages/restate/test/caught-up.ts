// A store on Restate whose lists wait until they have every change: for tests that look right after a change.
import { setTimeout as delay } from 'node:timers/promises';
import type { Notes, Store } from 'countersign/store';

type Method = (...given: any[]) => Promise<unknown>;

/** These look at the lists. An request whose id does not begin with that of its run is looked up there too. */
const LISTS = ['due', 'takeUntold', 'told', 'listRuns', 'listRequests', 'countRuns', 'stats', 'request'] as const;
/** The lists have no version of what these change. */
const OTHERS = ['claim', 'renew', 'release'] as const;

/** Changes that the lists may lack: shared by all stores of a test. */
export class Changes {
  readonly #lists: Store;
  readonly #versions = new Map<string, number>();
  readonly #deleted = new Set<string>();
  #others = 0;

  constructor(lists: Store) {
    this.#lists = lists;
  }

  /** Wraps a store that makes changes, and whose lists wait for them. */
  watch(store: Store): Store {
    const settle = () => this.#settle(store);
    const looking =
      (look: Method): Method =>
      async (...given) => {
        await settle();
        return look(...given);
      };
    const changing =
      (change: Method): Method =>
      async (...given) => {
        this.#others += 1;
        return change(...given);
      };
    const { notes } = store;
    const wrapped = {
      ...Object.fromEntries(LISTS.map((name) => [name, looking(store[name] as Method)])),
      ...Object.fromEntries(OTHERS.map((name) => [name, changing(store[name] as Method)])),
      notes: {
        ...notes,
        getMany: looking(notes.getMany),
        list: looking(notes.list),
        put: changing(notes.put),
        remove: changing(notes.remove),
      } as Notes,
    };
    return {
      ...store,
      ...wrapped,
      delete: async (runId) => {
        this.#others += 1;
        const deleted = await store.delete(runId);
        if (deleted) this.#deleted.add(runId);
        return deleted;
      },
      append: async (append) => {
        const copy = structuredClone(append);
        // Their ids are looked up in the lists, because they do not begin with that of their run.
        if (append.opened.length > 0) await settle();
        const appended = await store.append(append.opened.length > 0 ? copy : append);
        this.#versions.set(append.runId, append.expectedVersion + append.events.length);
        return appended;
      },
    };
  }

  async #settle({ projection }: Store): Promise<void> {
    for (const [runId, version] of this.#versions) {
      while (!this.#deleted.has(runId) && (await this.#version(runId)) < version) await delay(2);
      this.#versions.delete(runId);
    }
    const others = this.#others;
    // A change can be between two partitions, where no query sees it.
    for (let quiet = 0; others > 0 && quiet < 3; await delay(5))
      quiet = (await projection?.lagMs()) === 0 ? quiet + 1 : 0;
    this.#others -= others;
  }

  async #version(runId: string): Promise<number> {
    return (await this.#lists.read(runId, { limit: 1 }))?.run.version ?? 0;
  }
}
