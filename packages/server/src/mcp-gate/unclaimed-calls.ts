// The calls whose answer did not reach their client. The same call of the same client continues one of them instead of asking again.
import type { Notes } from 'countersign/store';

/** A call that this process answers. */
export type Claim = {
  readonly key: string;
  /** Keeps others from continuing the call, until one of the others is called. */
  keep(): Promise<void>;
  /** The client comes back for the answer soon. */
  pause(): Promise<void>;
  /** The client has the answer: the same call is a new one. */
  answered(): Promise<void>;
  /** The client stopped waiting: the same call continues this one. */
  release(): Promise<void>;
};

/** A client that does not come back for so long has lost its call. Longer than one leg. */
const HELD_MS = 90_000;
const RENEW_MS = 15_000;
const DAY_MS = 86_400_000;
const COLLECTION = 'mcp-gate-calls';

export class UnclaimedCalls {
  readonly #notes: Notes;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** Continues a call that nobody waits for. `call` identifies the client, the tool and the arguments. */
  async take(call: string, newKey: () => string): Promise<Claim> {
    const { items } = await this.#notes.list(COLLECTION, { after: `${call}.`, limit: 20 });
    for (const { key: name, value, version } of items) {
      if (!name.startsWith(`${call}.`)) break;
      if (Number(value) > Date.now()) continue;
      if (await this.#hold(name, Date.now() + HELD_MS, version)) return this.claim(call, name.slice(call.length + 1));
    }
    return this.claim(call, newKey());
  }

  claim(call: string, key: string): Claim {
    const name = `${call}.${key}`;
    let timer: NodeJS.Timeout | undefined;
    let renewal: Promise<unknown> = Promise.resolve();
    const renew = () => this.#hold(name, Date.now() + HELD_MS);
    // A renewal that comes late would bring an answered call back.
    const pause = async () => {
      clearInterval(timer);
      await renewal;
    };
    return {
      key,
      keep: async () => {
        await renew();
        timer = setInterval(() => {
          renewal = renew().catch(() => undefined);
        }, RENEW_MS).unref();
      },
      pause,
      answered: async () => {
        await pause();
        await this.#notes.remove(COLLECTION, name);
      },
      release: async () => {
        await pause();
        await this.#hold(name, 0);
      },
    };
  }

  #hold(name: string, until: number, version?: number): Promise<boolean> {
    const options = { expiresAt: Date.now() + DAY_MS, ...(version !== undefined && { version }) };
    return this.#notes.put(COLLECTION, name, until, options);
  }
}
