// How processes learn of each other's appends on PostgreSQL, while someone watches. Otherwise nothing is announced and no
// connection or timer is held.
import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../../models/abort.ts';
import { shortHash } from '../../runs/port/chain.ts';
import type { StopListening } from '../rules/watchers.ts';
import { NOW } from './expressions.ts';
import { ask, type PostgresClient, type PostgresPool } from './pool.ts';
import { quoted, type Tables } from './schema.ts';

export type WatchConnection = {
  readonly pool: () => Promise<PostgresPool>;
  /** Opens a connection to listen on; undefined if there is none to spare. */
  readonly connect: (pool: PostgresPool) => Promise<PostgresClient> | undefined;
  readonly tables: Tables;
  /** Identifies this process among the watchers. */
  readonly watcherId: number;
};

/** How long a process counts as watching after it last said so. */
const WATCH_LEASE_MS = 60_000;
const RENEW_MS = 20_000;
/** How long ids are collected before they are announced together. */
const COLLECT_MS = 5;
/** Announced by a watcher to find out whether it hears itself. */
const TEST = '';
const LONGEST_WAIT_MS = 5_000;
const POLL_MS = 500;
/** How long to poll where notifications do not arrive, before listening on another connection. */
const DEAF_MS = 60_000;
/** How soon a notification arrives, if it does. */
const HEAR_MS = 2_000;
/** A connection without an answer for this long counts as lost. */
const ANSWER_MS = 10_000;
/** Polling takes at most this fraction of the time. */
const POLL_SHARE = 20;
/** An append has the time of its start, but is visible only when durable: looking back finds those in between. */
const LOOK_BACK_MS = 3_000;

/** How long other processes wait for the announcement of an append that they expect. */
const EXPECT_MS = 1_000;

/**
 * Announces appends to other processes. Not within the append, because PostgreSQL serializes the commits of notifying
 * transactions. If this process dies first, the run is taken over after its claim lapses, and that is announced. A run that
 * paused or ended has no claim to lapse: its append is expected before it is sent, and a watcher that misses the announcement
 * reads the run.
 */
export class PostgresAnnouncer {
  readonly #connection: WatchConnection;
  #runIds = new Set<string>();
  #announcing: Promise<void> | undefined;
  /** Payloads for the channel of expected appends: those to be sent at once, and those that have been announced. */
  #expected: string[] = [];
  #fulfilled: string[] = [];
  #expecting = 0;
  #isWatched = false;

  constructor(connection: WatchConnection) {
    this.#connection = connection;
  }

  /** To be called before an append that lets the run rest. Returns a mark for `announce`. */
  expect(runId: string): string | undefined {
    if (!this.#isWatched) return undefined;
    this.#expecting += 1;
    const mark = `${this.#connection.watcherId} ${this.#expecting}`;
    if (this.#expected.push(`${mark} ${runId}`) === 1) queueMicrotask(() => this.#sendExpected());
    return mark;
  }

  /** To be called after each append. `watched`: whether another process watches. */
  announce(runId: string, watched: boolean, mark?: string): void {
    this.#isWatched = watched;
    if (!watched) return;
    this.#runIds.add(runId);
    if (mark !== undefined) this.#fulfilled.push(mark);
    this.#announcing ??= this.#announceSoon();
  }

  async close(): Promise<void> {
    await this.#announcing;
  }

  async #announceSoon(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
    this.#announcing = undefined;
    const [runIds, fulfilled] = [[...this.#runIds], this.#fulfilled];
    this.#runIds = new Set();
    this.#fulfilled = [];
    try {
      await announce(this.#connection, runIds, fulfilled);
    } catch {
      // The database is down, so listeners have lost it too, and look back once it returns.
    }
  }

  #sendExpected(): void {
    const expected = this.#expected;
    this.#expected = [];
    announce(this.#connection, [], expected).catch(() => {
      // No watcher expects these appends, but they are announced too.
    });
  }
}

/** A payload is the number of the announcing process and the id of a run; `TEST` instead of an id is for that process itself. */
async function announce(
  { pool, tables, watcherId }: WatchConnection,
  runIds: readonly string[],
  expectations: readonly string[] = [],
): Promise<void> {
  const text = 'SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS n (channel, payload)';
  const channels = [...runIds.map(() => channelOf(tables)), ...expectations.map(() => expectationsOf(tables))];
  const payloads = [...runIds.map((runId) => `${watcherId} ${runId}`), ...expectations];
  await ask(await pool(), text, [channels, payloads], ANSWER_MS);
}

/** Calls `changed` soon after another process appends to a run. */
export function watchPostgres(connection: WatchConnection, changed: (runId: string) => void): StopListening {
  const stopping = new AbortController();
  const following = follow(connection, changed, stopping.signal);
  return () => {
    stopping.abort();
    return following;
  };
}

/** Listens until stopped. Looks back at first, and whenever the connection was lost. */
async function follow(connection: WatchConnection, changed: (runId: string) => void, stop: AbortSignal): Promise<void> {
  const lookBack = createLookBack(connection, changed);
  let failures = 0;
  while (!stop.aborted) {
    try {
      const connecting = connection.connect(await connection.pool());
      if (connecting === undefined) await poll(lookBack, stop);
      else await listen(await connected(connecting, stop), connection, lookBack, changed, stop);
      failures = 0;
    } catch {
      // Tries again until stopped. Reads and writes report the failure.
      failures += 1;
    }
    await pause(Math.min(LONGEST_WAIT_MS, 50 * 2 ** failures), stop);
  }
}

/** Releases a connection that arrives after the stop. */
async function connected(connecting: Promise<PostgresClient>, stop: AbortSignal): Promise<PostgresClient> {
  try {
    return await untilAborted(connecting, stop);
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw error;
  }
}

/** Takes a connection of the pool, unless it is the only one: listening would block all other queries. */
export function connectIfSpare(pool: PostgresPool): Promise<PostgresClient> | undefined {
  const isSingle = (pool as { readonly options?: { readonly max?: unknown } }).options?.max === 1;
  return isSingle ? undefined : pool.connect?.();
}

async function poll(lookBack: () => Promise<void>, stop: AbortSignal, forMs = Number.POSITIVE_INFINITY): Promise<void> {
  const until = performance.now() + forMs;
  while (!stop.aborted && performance.now() < until) {
    const startedAt = performance.now();
    await lookBack();
    await pause(Math.max(POLL_MS, POLL_SHARE * (performance.now() - startedAt)), stop);
  }
}

/**
 * Settles when the connection is lost, on stop, or after a while without any notification: behind a pooler that gives each
 * statement another connection, LISTEN has no effect, and it polls instead.
 */
async function listen(
  client: PostgresClient,
  connection: WatchConnection,
  lookBack: () => Promise<void>,
  changed: (runId: string) => void,
  stop: AbortSignal,
): Promise<void> {
  const { tables, watcherId } = connection;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  /** Aborted by the first notification, and when this is over. */
  const hearing = new AbortController();
  void over.then(() => hearing.abort());
  client.on('error', end);
  client.on('end', end);
  const expectations = new Expectations(changed);
  client.on('notification', ({ channel, payload = '' }) => {
    hearing.abort();
    const [from, ...runId] = payload.split(' ');
    if (from === String(watcherId)) return;
    if (channel === expectationsOf(tables)) expectations.hear(payload);
    else changed(runId.join(' '));
  });
  stop.addEventListener('abort', () => end(), { once: true });
  if (stop.aborted) end();
  client.unref?.();
  const renewWatch = `INSERT INTO ${tables.watcher} (id, until) VALUES (${watcherId}, ${NOW} + ${WATCH_LEASE_MS})
    ON CONFLICT (id) DO UPDATE SET until = excluded.until`;
  const say = (text: string) => untilAborted(client.query(text), AbortSignal.timeout(ANSWER_MS));
  const again = setInterval(() => say(renewWatch).catch(() => end()), RENEW_MS);
  again.unref();
  try {
    await say(`LISTEN ${quoted(channelOf(tables))}`);
    await say(`LISTEN ${quoted(expectationsOf(tables))}`);
    await say(`DELETE FROM ${tables.watcher} WHERE until <= ${NOW}`);
    await say(renewWatch);
    await lookBack();
    // On another connection: on this one, the notification would come with the answer.
    await announce(connection, [TEST]);
    await pause(HEAR_MS, hearing.signal);
    // On a busy machine the notification may come later, so this connection listens while it polls.
    await poll(lookBack, hearing.signal, DEAF_MS);
    if (!hearing.signal.aborted) return;
    // By then, appends that did not know of this watcher have finished.
    const once = setTimeout(() => lookBack().catch(() => end()), LOOK_BACK_MS / 3);
    once.unref();
    await over;
    clearTimeout(once);
    if (stop.aborted) await say(`DELETE FROM ${tables.watcher} WHERE id = ${watcherId}`);
  } finally {
    clearInterval(again);
    expectations.clear();
    client.release(true);
  }
}

/**
 * Appends of other processes that were expected and not yet announced. A payload is a mark, which names the process and the append;
 * the id of the run follows it if the append is expected, and does not if it was announced.
 */
class Expectations {
  readonly #changed: (runId: string) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(changed: (runId: string) => void) {
    this.#changed = changed;
  }

  hear(payload: string): void {
    const [from, number, ...runId] = payload.split(' ');
    const mark = `${from} ${number}`;
    clearTimeout(this.#timers.get(mark));
    this.#timers.delete(mark);
    if (runId.length > 0)
      this.#timers.set(mark, setTimeout(() => this.#miss(mark, runId.join(' ')), EXPECT_MS).unref());
  }

  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #miss(mark: string, runId: string): void {
    this.#timers.delete(mark);
    this.#changed(runId);
  }
}

/** Finds the runs that changed since the last call, by a scan of all runs. */
function createLookBack({ pool, tables }: WatchConnection, changed: (runId: string) => void): () => Promise<void> {
  let lookedAt = performance.now();
  let found = new Map<string, number>();
  return async () => {
    const startedAt = performance.now();
    const { rows } = await ask(
      await pool(),
      `SELECT id, version FROM ${tables.run} WHERE updated_at >= ${NOW} - $1::bigint`,
      [Math.ceil(startedAt - lookedAt) + LOOK_BACK_MS],
    );
    const before = found;
    found = new Map(rows.map(({ id, version }) => [id, version]));
    lookedAt = startedAt;
    for (const [runId, version] of found) if (before.get(runId) !== version) changed(runId);
  };
}

/** The name of a channel has at most 63 bytes. */
function channelOf({ schema }: Tables, kind = 'countersign'): string {
  if (schema === undefined) return kind;
  const name = `${kind}:${schema}`;
  return Buffer.byteLength(name) <= 63 ? name : `${kind}:${shortHash(schema)}`;
}

/** Processes of earlier versions do not listen to it. */
const expectationsOf = (tables: Tables): string => channelOf(tables, 'countersign-expected');

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  // A stop ends the pause.
  await delay(ms, undefined, { signal: stop, ref: false }).catch(() => {});
}
