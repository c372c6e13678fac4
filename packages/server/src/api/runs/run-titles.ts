// Titles of runs: the first words of the user.
import type { Message } from 'countersign';
import type { RunRecord, Store } from 'countersign/store';

const MAX_LENGTH = 120;
/** How many titles are cached. */
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

/** Returns a function that reads the titles of runs, in their order. Each is read once, because a first event never changes. */
export function runTitles(
  store: Store,
): (runs: readonly Pick<RunRecord, 'id'>[]) => Promise<readonly (string | null)[]> {
  const known = new Map<string, string | null>();

  async function read(id: string): Promise<string | null> {
    // SQLite answers synchronously, and a first message may be large: this lets other requests run in between.
    await new Promise(setImmediate);
    const first = (await store.read(id, { limit: 1 }))?.events[0];
    if (first === undefined) return null;
    const title = first.type === 'user-spoke' ? titleOf(first.messages) : null;
    if (known.size >= MAX_TITLES) known.clear();
    known.set(id, title);
    return title;
  }

  return async (runs) => {
    const titles: (string | null)[] = [];
    for (const { id } of runs) {
      const title = known.get(id);
      titles.push(title === undefined ? await read(id) : title);
    }
    return titles;
  };
}
