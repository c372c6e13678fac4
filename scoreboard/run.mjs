// node scoreboard/run.mjs [--systems a,b] [--ways gated] [--faults a,b or none] [--times 20] [--seed 1] [--write]
//
// Runs every system through every fault, without our gate and with it, and writes results/latest.json, docs/scoreboard.md and its chart.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measure } from './lib/measure.mjs';
import { writePage } from './lib/page.mjs';
import { SYSTEMS } from './systems.mjs';

const { values } = parseArgs({
  options: {
    systems: { type: 'string' },
    ways: { type: 'string' },
    faults: { type: 'string' },
    times: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
  },
});
const RESULTS = join(import.meta.dirname, 'results', 'latest.json');
const chosen = values.systems?.split(',') ?? Object.keys(SYSTEMS);
const folder = mkdtempSync(join(tmpdir(), 'scoreboard-'));
// PostgreSQL runs as a user of its own.
chmodSync(folder, 0o755);

if (!values.page)
  try {
    for (const system of chosen)
      for (const way of values.ways?.split(',') ?? SYSTEMS[system].ways ?? []) {
        const row = await measure({
          system,
          way,
          folder,
          times: Number(values.times),
          seed: Number(values.seed),
          ...(values.faults && { faults: values.faults === 'none' ? [] : values.faults.split(',') }),
        });
        console.log(JSON.stringify(row, null, 1));
        if (!values.write) continue;
        // Read again: several of these may run at once.
        const results = saved();
        const key = way === '' ? system : `${system} ${way}`;
        const before = results.rows[key];
        const faults = values.faults ? { ...before?.faults, ...row.faults } : row.faults;
        results.rows[key] = { ...row, faults };
        mkdirSync(join(RESULTS, '..'), { recursive: true });
        writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
      }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
if (values.write || values.page) writePage(saved());
process.exit(0);

function saved() {
  return existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : { rows: {} };
}
