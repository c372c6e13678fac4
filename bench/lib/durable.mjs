// What users of a peer without a built-in store write themselves: one row per run.
//   pause : INSERT (id, 'paused', state)
//   resume: SELECT state; decide; finish; UPDATE (status 'done', state = null)
// 'two-commits' leaves the SELECT out and is the floor: INSERT + UPDATE, state kept by the caller.
export async function selfStored(driver, { connectionString, poolMax, mode = 'row' }) {
  const pg = (await import('pg')).default;
  const pool = new pg.Pool({ connectionString, max: poolMax });
  await pool.query('CREATE TABLE IF NOT EXISTS runs (id text PRIMARY KEY, status text NOT NULL, state jsonb)');
  const held = new Map();
  return {
    counts: driver.counts,
    async pause(id) {
      const h = await driver.pause();
      const s = driver.save(h);
      await pool.query({
        name: 'ins',
        text: 'INSERT INTO runs (id, status, state) VALUES ($1, $2, $3)',
        values: [id, 'paused', s],
      });
      if (mode === 'two-commits') held.set(id, s);
      return h.pending;
    },
    async resume(id) {
      let s;
      if (mode === 'two-commits') {
        s = held.get(id);
        held.delete(id);
      }
      // ::text so that the driver gets back the string it saved, not a parsed object
      else
        s = (await pool.query({ name: 'sel', text: 'SELECT state::text AS s FROM runs WHERE id = $1', values: [id] }))
          .rows[0].s;
      const text = await driver.resume(await driver.load(s));
      await pool.query({
        name: 'upd',
        text: `UPDATE runs SET status = 'done', state = NULL WHERE id = $1`,
        values: [id],
      });
      return text;
    },
    close: () => pool.end(),
  };
}
