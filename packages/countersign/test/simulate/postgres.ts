// PostgreSQL in a simulated schedule: real connections to a real server, whose clock is that of the schedule.
import pg from 'pg';
import type { Notes } from '../../src/runs/port/notes.ts';
import type { Store } from '../../src/runs/port/store.ts';
import { postgresStore } from '../../src/stores/postgres/postgres.ts';
import { here } from '../../src/testing/simulate/timeline.ts';

/** Virtual time stands still until the promise is settled. */
type Hold = <T>(work: Promise<T>) => Promise<T>;

/** The functions of the schema come before those of PostgreSQL, so the statements of the store read the virtual clock. */
const CLOCK = (schema: string): string => `
  CREATE SCHEMA ${schema};
  CREATE TABLE ${schema}.virtual_clock (at double precision NOT NULL);
  INSERT INTO ${schema}.virtual_clock VALUES (0);
  CREATE FUNCTION ${schema}.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT to_timestamp(at / 1000) FROM ${schema}.virtual_clock';
`;

let made = 0;

/** A store in a schema of its own, which `close` drops. */
export function postgresIn(url: string, now: () => number, hold: Hold): Store {
  made += 1;
  const schema = `simulated_${process.pid}_${made}`;
  const path = encodeURIComponent(`-c search_path=${schema},pg_catalog`);
  const admin = new pg.Client({ connectionString: url });
  const listeners = new Set<(runId: string) => void>();
  let set = 0;
  let store: Store | undefined;
  /** Its timers are real, and its connections know nothing of the simulation. */
  const open = async (): Promise<Store> => {
    await admin.connect();
    await admin.query(CLOCK(schema));
    return postgresStore({ url: `${url}?options=${path}`, schema, poolMax: 4 });
  };
  const opened = here.exit(open);
  const call = <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const at = now();
    return hold(
      here.exit(async () => {
        store ??= await opened;
        if (at > set) await admin.query(`UPDATE ${schema}.virtual_clock SET at = $1`, [at]);
        set = Math.max(at, set);
        return work(store);
      }),
    );
  };
  const changed = (runId: string) => {
    for (const listener of listeners) listener(runId);
  };
  const notes: Notes = {
    get: (...args) => call(({ notes }) => notes.get(...args)),
    put: (...args) => call(({ notes }) => notes.put(...args)),
    remove: (...args) => call(({ notes }) => notes.remove(...args)),
    getMany: (...args) => call(({ notes }) => notes.getMany(...args)),
    list: (...args) => call(({ notes }) => notes.list(...args)),
  };
  return {
    notes,
    append: async (append) => {
      const appended = await call((store) => store.append(append));
      changed(append.runId);
      return appended;
    },
    read: (...args) => call((store) => store.read(...args)),
    delete: (runId) => call((store) => store.delete(runId)),
    claim: (...args) => call((store) => store.claim(...args)),
    renew: (...args) => call((store) => store.renew(...args)),
    release: (...args) => call((store) => store.release(...args)),
    due: (...args) => call((store) => store.due(...args)),
    queue: () => call((store) => store.queue()),
    takeUntold: (limit, leaseMs) => call(async (store) => (await store.takeUntold?.(limit, leaseMs)) ?? []),
    told: (requestId, news) => call(async (store) => store.told?.(requestId, news)),
    listRuns: (query) => call((store) => store.listRuns(query)),
    listRequests: (query) => call((store) => store.listRequests(query)),
    request: (id) => call((store) => store.request(id)),
    countRuns: () => call((store) => store.countRuns()),
    stats: (query) => call((store) => store.stats(query)),
    now: () => call((store) => store.now()),
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    migrate: () => call((store) => store.migrate()),
    close: () =>
      here.exit(async () => {
        await (await opened).close();
        await admin.query(`DROP SCHEMA ${schema} CASCADE`);
        await admin.end();
      }),
  };
}
