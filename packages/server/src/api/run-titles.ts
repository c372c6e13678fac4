// Titles of runs: the first words of the user.
import type { Message } from 'countersign';
import type { RunRecord, Store } from 'countersign/store';

const MAX_LENGTH = 120;
/** How many titles are cached; the oldest are dropped. */
const MAX_TITLES = 10_000;

/** The first words on one line, or null if the user said nothing. */
export function titleOf(messages: readonly Message[]): string | null {
  const said = messages.find(({ role }) => role === 'user')?.content ?? [];
  const text = said.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join(' ');
  const words = text.replaceAll(/\s+/g, ' ').trim();
  // Cut between characters, never inside a surrogate pair.
  const start = [...words.slice(0, 2 * MAX_LENGTH)];
  if (start.length === 0) return null;
  return start.length > MAX_LENGTH ? `${start.slice(0, MAX_LENGTH).join('').trimEnd()}…` : words;
}

/** Reads the first event of each run, once, because it never changes. */
export class RunTitles {
  readonly #store: Store;
  readonly #known = new Map<string, string | null>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Titles of these runs, in their order. */
  async of(runs: readonly Pick<RunRecord, 'id'>[]): Promise<readonly (string | null)[]> {
    const titles: (string | null)[] = [];
    for (const { id } of runs) {
      const known = this.#known.get(id);
      titles.push(known === undefined ? await this.#read(id) : known);
    }
    return titles;
  }

  async #read(id: string): Promise<string | null> {
    // SQLite answers synchronously, and a first message may be large: this lets other requests run in between.
    await new Promise(setImmediate);
    const first = (await this.#store.read(id, { limit: 1 }))?.events[0];
    if (first === undefined) return null;
    const title = first.type === 'user-spoke' ? titleOf(first.messages) : null;
    if (this.#known.size >= MAX_TITLES) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(id, title);
    return title;
  }
}
