// The calls that are not over for their clients. An equal call continues one of them instead of asking again.
import type { Countersign } from 'countersign';
import type { Note, Page } from 'countersign/store';

/** The place of one call in the list, held by the process that answers it. */
export type Ticket = {
  readonly key: string;
  /** Keeps others from continuing the call, until one of the others is called. */
  keep(): Promise<void>;
  /** The call may be sent from now on, by a program that reports within this time. It is kept until its outcome is known. */
  sent(heldMs?: number): Promise<void>;
  /** A freeze kept it from being sent. */
  unsent(): Promise<void>;
  /** The client comes back for the answer soon. */
  pause(): Promise<void>;
  /** The client has the answer: an equal call is a new one. */
  over(): Promise<void>;
  /** The client stopped waiting: an equal call continues this one. */
  release(): Promise<void>;
};

/** `client` is null if nobody can be recognised as the same client. `until`: a process answers it until then. */
type Entry = {
  readonly gate: string | null;
  readonly tool: string;
  readonly client: string | null;
  readonly isSent: boolean;
  readonly until: number;
};

export type TakeOptions = {
  /** The name of the gate, if it is not the default one. */
  readonly gate?: string;
  /** The tool as recorded. */
  readonly tool: string;
  /** The client; undefined if its next call cannot be recognised as its own. */
  readonly client: string | undefined;
  /** Calls that this process runs are not lost. */
  readonly runsHere?: (key: string) => boolean;
  readonly newKey: () => string;
};

type Named = Pick<TakeOptions, 'gate' | 'tool' | 'client'>;

/** A client that does not come back for so long has lost its call. Longer than one leg. */
const HELD_MS = 90_000;
const RENEW_MS = 15_000;
const DAY_MS = 86_400_000;
const MOST_EQUAL = 100;
const COLLECTION = 'open-calls';

export class OpenCalls {
  readonly #ai: Countersign;

  constructor(ai: Countersign) {
    this.#ai = ai;
  }

  /**
   * Continues an equal call, or begins one. `call` identifies the person, the tool and the arguments. A call whose process is gone
   * after it was sent is turned into a doubt here, and an equal call of the same person continues the doubt, whatever its client.
   */
  async take(call: string, { runsHere = () => false, newKey, ...given }: TakeOptions): Promise<Ticket> {
    const { client } = given;
    const { items } = await this.#ai.runs.notes.list(COLLECTION, { after: `${call}.`, limit: MOST_EQUAL });
    for (const { key: name, value, version } of items) {
      if (!name.startsWith(`${call}.`)) break;
      const entry = value as Entry;
      const key = name.slice(call.length + 1);
      if (entry.isSent && !runsHere(key) && (await this.#outcome(entry, key)) === 'doubt')
        return this.#ticket(call, key, { ...entry, client: client ?? null });
      if (client === undefined || entry.client !== client || entry.until > Date.now()) continue;
      if (await this.#put(name, { ...entry, until: Date.now() + HELD_MS }, version))
        return this.#ticket(call, key, entry);
    }
    return this.resume(call, newKey(), given);
  }

  /** The ticket of a call whose key is known. */
  async resume(call: string, key: string, given: Named): Promise<Ticket> {
    const note = await this.#ai.runs.notes.get(COLLECTION, `${call}.${key}`);
    return this.#ticket(call, key, (note?.value as Entry | undefined) ?? newEntry(given));
  }

  #ticket(call: string, key: string, first: Entry): Ticket {
    const name = `${call}.${key}`;
    let entry: Entry = { ...first, until: 0 };
    let timer: NodeJS.Timeout | undefined;
    let renewal: Promise<unknown> = Promise.resolve();
    const renew = (heldMs = HELD_MS) => this.#put(name, { ...entry, until: Date.now() + heldMs });
    // A renewal that comes late would bring a call back that is over.
    const pause = async () => {
      clearInterval(timer);
      await renewal;
    };
    return {
      key,
      pause,
      keep: async () => {
        await renew();
        timer = setInterval(() => {
          renewal = renew().catch(() => undefined);
        }, RENEW_MS).unref();
      },
      sent: async (heldMs) => {
        entry = { ...entry, isSent: true };
        await renew(heldMs);
      },
      unsent: async () => {
        entry = { ...entry, isSent: false };
        await renew();
      },
      over: async () => {
        await pause();
        await this.#ai.runs.notes.remove(COLLECTION, name);
      },
      release: async () => {
        await pause();
        await this.#put(name, entry);
      },
    };
  }

  /** Removes a call whose end was reported. */
  async end(call: string, key: string): Promise<void> {
    await this.#ai.runs.notes.remove(COLLECTION, `${call}.${key}`);
  }

  /** Turns the calls of processes that are gone into doubts, so that people are asked without a worker. */
  async recover(runsHere: (key: string) => boolean): Promise<void> {
    const { notes } = this.#ai.runs;
    const recovering: Promise<void>[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const page: Page<Note> = await notes.list(COLLECTION, { after, limit: MOST_EQUAL });
      recovering.push(...page.items.map((note) => this.#recover(note, runsHere)));
      after = page.cursor;
    }
    await Promise.all(recovering);
  }

  async #recover({ key: name, value, version }: Note, runsHere: (key: string) => boolean): Promise<void> {
    const entry = value as Entry;
    const key = name.slice(name.indexOf('.') + 1);
    if (!entry.isSent || runsHere(key)) return;
    const outcome = await this.#outcome(entry, key);
    // The process that answered it is gone, or has removed the note. A known outcome waits for its client for a day.
    if (outcome === 'doubt') await this.#put(name, { ...entry, until: 0 }, version);
    if (outcome === 'known') await this.#put(name, { ...entry, isSent: false, until: 0 }, version);
  }

  /** Waits while another process drives the call. If that process is gone, its call becomes a doubt here. */
  async #outcome({ gate, tool }: Entry, key: string): Promise<'doubt' | 'known' | 'open'> {
    try {
      const { status } = await this.#ai.gate({ name: tool }, gate === null ? {} : { name: gate }).read({ key });
      if (status === 'doubt') return 'doubt';
      return status === 'started' || status === 'pending' || status === 'approved' ? 'open' : 'known';
    } catch (error) {
      // The run was deleted.
      if ((error as { code?: string }).code === 'unknown-run') return 'known';
      throw error;
    }
  }

  /** A call that was sent is kept until its outcome is known, others for a day. */
  #put(name: string, entry: Entry, version?: number): Promise<boolean> {
    const expiresAt = entry.isSent ? null : Date.now() + DAY_MS;
    return this.#ai.runs.notes.put(COLLECTION, name, entry, { expiresAt, ...(version !== undefined && { version }) });
  }
}

const newEntry = ({ gate, tool, client }: Named): Entry => ({
  gate: gate ?? null,
  tool,
  client: client ?? null,
  isSent: false,
  until: 0,
});
