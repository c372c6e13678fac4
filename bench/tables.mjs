// node tables.mjs out.json : prints the tables of a finished run again.
import fs from 'node:fs';
import { caseTable } from './lib/stats.mjs';

const FILES = {
  A: 'a-roundtrip.mjs',
  B: 'b-loop.mjs',
  C: 'c-history.mjs',
  D: 'd-parallel.mjs',
  E: 'e-stream.mjs',
  F: 'f-durable.mjs',
  H: 'h-memory.mjs',
  L: 'l-sizes.mjs',
  S: 's-sqlite.mjs',
};
for (const file of process.argv.slice(2)) {
  const rep = JSON.parse(fs.readFileSync(file));
  for (const res of rep.results) {
    if (!FILES[res.case]) continue; // G is printed by run.mjs
    const kase = (await import(`./cases/${FILES[res.case]}`)).default;
    console.log(`\n### ${res.case}. ${kase.title} — ${res.variant}\n`);
    console.log(caseTable(kase, res.rows));
  }
}
