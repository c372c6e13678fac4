// An index of what searches look in, for searches that few requests match. A search that finds it behind lets it catch up afterwards,
// in stretches: a store that nobody searches pays nothing. It is derived and may lag or be missing: requests that are not in it yet
// are looked at one by one, and every match is checked on the request itself.
import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Prepare, SqliteConnection } from './connection.ts';

/** The index finds parts of words of at least this many characters. */
const SHORTEST = 3;
/** With more matches, a page is full sooner by walking along the list. */
const MOST_MATCHES = 1_000;
/** How many requests that are not in the index are looked at beside it. */
const MOST_BEHIND = 1_000;
/** How much is added in one transaction, in requests and in characters, and the pause for the writes of others. */
const STRETCH = 200;
const STRETCH_SIZE = 50_000;
const PAUSE_MS = 10;

export class SearchIndex {
  readonly #connection: SqliteConnection;
  #isFilling = false;
  /** True if this SQLite has no such indexes, or the file cannot be written. */
  #isMissing = false;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** The numbers of the requests that can match, as a JSON array; undefined if all have to be looked at. */
  async find(words: readonly string[]): Promise<string | undefined> {
    const long = words.filter((word) => [...word].length >= SHORTEST);
    if (long.length === 0 || this.#isMissing) return undefined;
    const { isBehind, found } = await this.#connection.readAtOnce(this.#candidates(long));
    if (isBehind) this.#fill();
    return found && JSON.stringify(found);
  }

  #candidates(words: readonly string[]): Job<{ readonly isBehind: boolean; readonly found?: readonly number[] }> {
    return (prepare) => {
      try {
        const { upTo, last } = markIn(prepare);
        const isBehind = upTo < last;
        if (upTo === 0 || last - upTo > MOST_BEHIND) return { isBehind };
        const phrases = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' AND ');
        const matches = prepare(SQL.matches).all(phrases);
        if (matches.length > MOST_MATCHES) return { isBehind };
        return { isBehind, found: [...matches, ...prepare(SQL.behind).all(upTo)].map(({ seq }) => Number(seq)) };
      } catch {
        this.#isMissing = true;
        return { isBehind: false };
      }
    };
  }

  #fill(): void {
    if (this.#isFilling) return;
    this.#isFilling = true;
    // A store that was closed, or is away, ends it; a later search begins again.
    this.#fillAll()
      .catch(() => undefined)
      .finally(() => {
        this.#isFilling = false;
      });
  }

  async #fillAll(): Promise<void> {
    while (await this.#connection.write(this.#addStretch)) await delay(PAUSE_MS, undefined, { ref: false });
  }

  /** Returns whether more is to be added. A failure must not undo the other writes of the transaction. */
  readonly #addStretch: Job<boolean> = (prepare) => {
    prepare('SAVEPOINT countersign_fill').get();
    try {
      const isBehind = addStretch(prepare);
      prepare('RELEASE countersign_fill').get();
      return isBehind;
    } catch {
      prepare('ROLLBACK TO countersign_fill').get();
      prepare('RELEASE countersign_fill').get();
      this.#isMissing = true;
      return false;
    }
  };
}

function addStretch(prepare: Prepare): boolean {
  if (prepare(SQL.exists).get() === undefined) for (const text of SETUP) prepare(text).get();
  const { upTo, last } = markIn(prepare);
  let size = 0;
  let to = upTo;
  for (const row of prepare(SQL.next).iterate(upTo)) {
    to = Number(row.seq);
    size += Number(row.size);
    if (size >= STRETCH_SIZE) break;
  }
  prepare(SQL.add).get(upTo, to);
  prepare(SQL.setMark).get(to);
  return to > upTo && to < last;
}

/** The last request in the index, and the last one in the store. */
function markIn(prepare: Prepare): { readonly upTo: number; readonly last: number } {
  const last = Number(prepare(SQL.last).get()?.seq ?? 0);
  return { upTo: prepare(SQL.exists).get() === undefined ? 0 : Number(prepare(SQL.mark).get()?.upTo ?? 0), last };
}

const LAST = 'coalesce((SELECT max(seq) FROM countersign_request), 0)';

/** The number of a deleted request can be used again, if it was the last. Then the mark goes back. */
const SETUP: readonly string[] = [
  `CREATE VIRTUAL TABLE countersign_search USING fts5(text, content = '', columnsize = 0, tokenize = 'trigram case_sensitive 1')`,
  'CREATE TABLE countersign_searched (up_to INTEGER NOT NULL) STRICT',
  'INSERT INTO countersign_searched (up_to) VALUES (0)',
  `CREATE TRIGGER countersign_searched_deleted AFTER DELETE ON countersign_request
    BEGIN UPDATE countersign_searched SET up_to = ${LAST} WHERE up_to > ${LAST}; END`,
];

const SQL = {
  exists: `SELECT 1 FROM sqlite_schema WHERE name = 'countersign_searched'`,
  last: `SELECT ${LAST} AS seq`,
  mark: 'SELECT up_to AS upTo FROM countersign_searched',
  setMark: 'UPDATE countersign_searched SET up_to = ?',
  matches: `SELECT rowid AS seq FROM countersign_search WHERE countersign_search MATCH ? LIMIT ${MOST_MATCHES + 1}`,
  behind: 'SELECT seq FROM countersign_request WHERE seq > ?',
  next: `SELECT seq, coalesce(length(search_text), 0) AS size FROM countersign_request WHERE seq > ? ORDER BY seq LIMIT ${STRETCH}`,
  add: `INSERT INTO countersign_search (rowid, text)
    SELECT seq, search_text FROM countersign_request WHERE seq > ? AND seq <= ? AND search_text IS NOT NULL`,
};
