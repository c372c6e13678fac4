// How processes hear of each other's appends on PostgreSQL, while somebody watches. Otherwise nothing is announced,
// connected or timed.
import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../../models/abort.ts';
import { shortHash } from '../../runs/port/chain.ts';
import type { StopListening } from '../rules/watchers.ts';
import { NOW } from './conditions.ts';
import { ask, type PostgresClient, type PostgresPool } from './pool.ts';
import { quoted, type Tables } from './schema.ts';

export type WatchConnection = {
  readonly pool: () => Promise<PostgresPool>;
  /** Opens a connection to listen on; undefined if there is none to spare. */
  readonly connect: (pool: PostgresPool) => Promise<PostgresClient> | undefined;
  readonly tables: Tables;
  /** What this process is known by among those that watch. */
  readonly watcherId: number;
};

/** For how long a process is believed to watch without saying so again. */
const BELIEVED_MS = 60_000;
const SAY_AGAIN_MS = 20_000;
/** For how long appends need not ask again whether anybody watches. */
const ASKED_MS = 100;
/** Ids that are collected before they are announced together. */
const COLLECT_MS = 5;
const LONGEST_WAIT_MS = 5_000;
const POLL_MS = 500;
/** For how long it is polled where nothing is heard, before it is tried to listen again. */
const DEAF_MS = 60_000;
/** How soon what was announced is heard, if it is at all. */
const HEAR_MS = 2_000;
/** A connection on which no answer has come for so long is as good as lost. */
const ANSWER_MS = 10_000;
/** A look costs this part of the time at most. */
const POLL_SHARE = 20;
/** An append has the time when it began and is seen when it is durable: those in between are found by looking back. */
const LOOK_BACK_MS = 3_000;
/** PostgreSQL takes payloads below 8,000 bytes. */
const PAYLOAD_BYTES = 7_800;

/**
 * Announces appends to other processes. Not within the append: PostgreSQL makes announcing transactions wait for each
 * other until they are durable. If one is lost because this process dies, the run is taken up after its claim lapsed,
 * and that is announced again.
 */
export class PostgresAnnouncer {
  readonly #connection: WatchConnection;
  #runIds = new Set<string>();
  #announcing: Promise<void> | undefined;
  #watched = false;
  /** When the first of those was sent that ask and have not been answered. */
  #askedAt: number | undefined;
  #askAgainAt = 0;

  constructor(connection: WatchConnection) {
    this.#connection = connection;
  }

  /** Whether the appends that are about to be sent have to ask if others watch. */
  asksWatched(): boolean {
    const now = performance.now();
    if (now < this.#askAgainAt) return false;
    this.#askedAt ??= now;
    return true;
  }

  /** `watched`: what the append was told about it, if it asked. */
  appended(runId: string, watched: boolean | null): void {
    if (watched !== null) {
      this.#watched = watched;
      // Counted from the question: the answer may have been long on its way.
      if (this.#askedAt !== undefined) this.#askAgainAt = this.#askedAt + ASKED_MS;
      this.#askedAt = undefined;
    }
    if (this.#watched) this.#announce(runId);
  }

  #announce(runId: string): void {
    this.#runIds.add(runId);
    this.#announcing ??= this.#announceSoon();
  }

  async close(): Promise<void> {
    await this.#announcing;
  }

  async #announceSoon(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, COLLECT_MS));
    this.#announcing = undefined;
    const runIds = [...this.#runIds];
    this.#runIds = new Set();
    try {
      await announce(this.#connection, runIds);
    } catch {
      // The database is away, so those who listen have lost it too: they look back when it is there again.
    }
  }
}

/** Without any ids, only whoever announces it takes notice. */
async function announce({ pool, tables, watcherId }: WatchConnection, runIds: readonly string[]): Promise<void> {
  const payloads = runIds.length === 0 ? [payloadOf(watcherId, [])] : payloadsOf(watcherId, runIds);
  const text = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload';
  await ask(await pool(), text, [channelOf(tables), payloads], ANSWER_MS);
}

/** Calls `changed` with the runs that other processes append to, soon after. */
export function watchPostgres(connection: WatchConnection, changed: (runId: string) => void): StopListening {
  const stopping = new AbortController();
  const following = follow(connection, changed, stopping.signal);
  return () => {
    stopping.abort();
    return following;
  };
}

/** Listens until told to stop. Whenever it begins, at first or after the connection was lost, it looks back. */
async function follow(connection: WatchConnection, changed: (runId: string) => void, stop: AbortSignal): Promise<void> {
  const lookBack = createLookBack(connection, changed);
  let failures = 0;
  while (!stop.aborted) {
    try {
      const connecting = connection.connect(await connection.pool());
      if (connecting === undefined) await poll(lookBack, stop);
      else if (!(await listen(await connected(connecting, stop), connection, lookBack, changed, stop)))
        await poll(lookBack, stop, DEAF_MS);
      failures = 0;
    } catch {
      // Not there, or lost: tried again until nobody watches any more. Those who read and write are told.
      failures += 1;
    }
    await pause(Math.min(LONGEST_WAIT_MS, 50 * 2 ** failures), stop);
  }
}

/** A connection that comes after nobody wants it any more is given back. */
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
 * Resolves or rejects when the connection is lost, and resolves when told to stop. False if nothing is heard on it: a pooler
 * that gives each statement another connection lets whoever listens wait in vain.
 */
async function listen(
  client: PostgresClient,
  connection: WatchConnection,
  lookBack: () => Promise<void>,
  changed: (runId: string) => void,
  stop: AbortSignal,
): Promise<boolean> {
  const { tables, watcherId } = connection;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
  client.on('error', end);
  client.on('end', end);
  client.on('notification', ({ payload }) => {
    if (payload === payloadOf(watcherId, [])) hear();
    for (const runId of runIdsFromOthers(payload, watcherId)) changed(runId);
  });
  stop.addEventListener('abort', () => end(), { once: true });
  if (stop.aborted) end();
  client.unref?.();
  const sayThatWeWatch = `INSERT INTO ${tables.watcher} (id, until) VALUES (${watcherId}, ${NOW} + ${BELIEVED_MS})
    ON CONFLICT (id) DO UPDATE SET until = excluded.until`;
  const say = (text: string) => untilAborted(client.query(text), AbortSignal.timeout(ANSWER_MS));
  const again = setInterval(() => say(sayThatWeWatch).catch(() => end()), SAY_AGAIN_MS);
  again.unref();
  try {
    await say(`LISTEN ${quoted(channelOf(tables))}`);
    await say(`DELETE FROM ${tables.watcher} WHERE until <= ${NOW}`);
    await say(sayThatWeWatch);
    // By then everybody who appends has asked.
    await Promise.race([over, pause(ASKED_MS + ASKED_MS / 2, stop)]);
    await lookBack();
    // On another connection: on its own, what is announced comes with the answer.
    await announce(connection, []);
    const hears = await Promise.race([heard.then(() => true), over.then(() => true), pause(HEAR_MS, stop)]);
    if (hears !== true) return stop.aborted;
    // Whoever appended without knowing that we watch has finished by then.
    const once = setTimeout(() => lookBack().catch(() => end()), LOOK_BACK_MS / 3);
    once.unref();
    await over;
    clearTimeout(once);
    if (stop.aborted) await say(`DELETE FROM ${tables.watcher} WHERE id = ${watcherId}`);
    return true;
  } finally {
    clearInterval(again);
    client.release(true);
  }
}

/** Finds the runs that changed since it was called before, or since it was made, by reading through all of them. */
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

/** A name of a channel has at most 63 bytes. */
function channelOf({ schema }: Tables): string {
  if (schema === undefined) return 'countersign';
  const name = `countersign:${schema}`;
  return Buffer.byteLength(name) <= 63 ? name : `countersign:${shortHash(schema)}`;
}

/** Lists of ids, each behind the number of the one who announces them, none too long for PostgreSQL. */
function payloadsOf(watcherId: number, runIds: readonly string[]): readonly string[] {
  const payloads: string[] = [];
  let open: string[] = [];
  let bytes = 0;
  for (const runId of runIds) {
    const size = Buffer.byteLength(JSON.stringify(runId)) + 1;
    if (bytes + size > PAYLOAD_BYTES && open.length > 0) {
      payloads.push(payloadOf(watcherId, open));
      open = [];
      bytes = 0;
    }
    if (size > PAYLOAD_BYTES) continue;
    open.push(runId);
    bytes += size;
  }
  if (open.length > 0) payloads.push(payloadOf(watcherId, open));
  return payloads;
}

function payloadOf(watcherId: number, runIds: readonly string[]): string {
  return JSON.stringify([watcherId, ...runIds]);
}

/** We know of our own appends already. What is no list of ours was sent by a stranger. */
function runIdsFromOthers(payload: string | undefined, watcherId: number): readonly string[] {
  try {
    const [from, ...runIds] = JSON.parse(payload ?? '[]');
    return from === watcherId ? [] : runIds.filter((runId: unknown) => typeof runId === 'string');
  } catch {
    return [];
  }
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  // Told to stop: the pause is over.
  await delay(ms, undefined, { signal: stop, ref: false }).catch(() => {});
}
