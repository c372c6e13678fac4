// node tables.mjs out.json : prints the tables of a finished run again.
import fs from 'node:fs';
import { fmt, table } from './lib/stats.mjs';

const FILES = {
  A: 'a-roundtrip.mjs',
  B: 'b-loop.mjs',
  C: 'c-history.mjs',
  D: 'd-parallel.mjs',
  E: 'e-stream.mjs',
  F: 'f-durable.mjs',
  H: 'h-memory.mjs',
};
for (const file of process.argv.slice(2)) {
  const rep = JSON.parse(fs.readFileSync(file));
  for (const res of rep.results) {
    if (!FILES[res.case]) continue; // G is printed by run.mjs
    const kase = (await import(`./cases/${FILES[res.case]}`)).default;
    console.log(`\n### ${res.case}. ${kase.title} — ${res.variant}\n`);
    console.log(
      table(
        ['', ...kase.columns.map((c) => c[0]), 'x floor', 'p25..p75', 'rounds'],
        res.rows.map((r) =>
          !r.rounds.length
            ? [r.id, ...kase.columns.map(() => (r.error ? 'error' : 'n/a')), '-', '-', 0]
            : [
                r.id,
                ...kase.columns.map(([, k]) => (k === 'dbBytes' ? r.stats[k]?.mean : r.stats[k]?.median)),
                r.ratio,
                `${fmt(r.stats[kase.primary]?.p25)}..${fmt(r.stats[kase.primary]?.p75)}`,
                r.rounds.length,
              ],
        ),
      ),
    );
  }
}
