// The floor of F and S with the promise kept, for one call in one row: a request is decided once (compare and set), the start
// of its call is durable before the call runs, and its result after it. A row that is left at `started` is a call whose outcome
// is unknown. Three commits, as ours: pause, decision with start, result with end.
import { create as base, meta as m } from './adapter.mjs';

export const meta = { ...m, id: 'floor:safe', label: 'floor (3 commits, crash-safe)' };

const COLUMNS = 'id text PRIMARY KEY, status text NOT NULL, decided_by text, state text NOT NULL';
const PAUSE = "INSERT INTO runs (id, status, state) VALUES ($1, 'paused', $2)";
const START = "UPDATE runs SET status = 'started', decided_by = $2 WHERE id = $1 AND status = 'paused' RETURNING state";
const FINISH = "UPDATE runs SET status = 'done', state = $2 WHERE id = $1 AND status = 'started'";

export async function create(options) {
  const driver = await base(options);
  return {
    ...driver,
    async durable({ connectionString, poolMax }) {
      const pg = (await import('pg')).default;
      const pool = new pg.Pool({ connectionString, max: poolMax });
      await pool.query(`CREATE TABLE runs (${COLUMNS})`);
      const query = (name, text) => async (values) => (await pool.query({ name, text, values })).rows[0];
      const statements = {
        pause: query('pause', PAUSE),
        start: query('start', START),
        finish: query('finish', FINISH),
      };
      return { ...safe(driver, statements), close: () => pool.end() };
    },
    // With the durability of sqliteStore: WAL, synchronous = FULL.
    async durableSqlite(file) {
      const { DatabaseSync } = await import('node:sqlite');
      const db = new DatabaseSync(file);
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      db.exec(`CREATE TABLE runs (${COLUMNS}) STRICT`);
      const query = (text) => {
        const statement = db.prepare(text.replaceAll('$', '?'));
        return async (values) => statement.get(...values);
      };
      const statements = { pause: query(PAUSE), start: query(START), finish: query(FINISH) };
      return { ...safe(driver, statements), close: () => db.close() };
    },
  };
}

function safe(driver, { pause, start, finish }) {
  return {
    counts: driver.counts,
    async pause(id) {
      const handle = await driver.pause();
      await pause([id, driver.save(handle)]);
      return handle.pending;
    },
    async resume(id) {
      const row = await start([id, 'a person']);
      if (!row) throw new Error(`${id} was decided before`);
      const handle = driver.load(row.state);
      const text = await driver.resume(handle);
      await finish([id, driver.save(handle)]);
      return text;
    },
  };
}
