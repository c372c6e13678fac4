// What calls were counted as towards limits, as the writes to the store say.
import type { LimitUse } from '../../../src/core/authority/grants/limit.ts';
import type { Json } from '../../../src/core/json.ts';
import { FREEZES, type Store } from '../../../src/runs/port/store.ts';
import { startsIn } from '../starts.ts';

/** A call was counted, and at what time. `epoch`: how many freezes had been lifted by then. */
type Count = { readonly order: number; readonly at: number; readonly epoch: number };
export type Counted = Count & { readonly runId: string };

/** What was counted, as the writes to the store say. */
export class Counts {
  /** Each call that started, by its id, with the last count before its first start. */
  readonly started = new Map<string, Counted | undefined>();
  readonly #counts = new Map<string, Counted>();
  #order = 0;
  #epoch = 0;
  #frozen: readonly string[] = [];

  watched(store: Store): Store {
    const { notes } = store;
    return {
      ...store,
      append: async (append) => {
        const appended = await store.append(append);
        for (const callId of startsIn(append.events))
          if (!this.started.has(callId)) this.started.set(callId, this.#counts.get(callId));
        return appended;
      },
      notes: {
        get: (...given) => notes.get(...given),
        remove: (...given) => notes.remove(...given),
        getMany: (...given) => notes.getMany(...given),
        list: (...given) => notes.list(...given),
        put: async (kind, key, value, how) => {
          const isPut = await notes.put(kind, key, value, how);
          if (isPut && kind === 'limits') this.#count(value);
          if (isPut && kind === FREEZES[0] && key === FREEZES[1]) this.#freeze(value);
          return isPut;
        },
      },
    };
  }

  #count(value: Json): void {
    for (const { key, at } of (value as unknown as { uses: readonly LimitUse[] }).uses) {
      const callId = decodeURIComponent(key.slice(key.search(/[^/:]*$/)));
      if (this.#counts.get(callId)?.at === at) continue;
      this.#counts.set(callId, { runId: String(key.split(':')[0]), order: this.#order++, at, epoch: this.#epoch });
    }
  }

  #freeze(value: Json): void {
    const records = value as unknown as readonly { readonly events: readonly { readonly freeze?: LimitFreeze }[] }[];
    const made = records.flatMap(({ events: [first] }) =>
      first?.freeze?.tools?.includes('draw') ? [first.freeze.id] : [],
    );
    if (this.#frozen.some((id) => !made.includes(id))) this.#epoch += 1;
    this.#frozen = made;
  }
}

type LimitFreeze = { readonly id: string; readonly tools?: readonly string[] };
