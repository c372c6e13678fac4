// Deterministic simulation of the engine: `npm run simulate -- --schedules 1000`, `--replay SEED`, `--plant [NAME]`.
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from './postgres.mjs';
import { root } from './run.mjs';

// Sources in TypeScript are imported after `run.mjs` has refused an old Node.
const { startWorker } = await import('../packages/countersign/test/simulate/workers.ts');
const { campaign, report } = await import('./simulate/campaign.mjs');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: 'memory' },
    state: { type: 'string' },
    workers: { type: 'string' },
    block: { type: 'string', default: '20' },
    replay: { type: 'string' },
    trace: { type: 'string', default: '200' },
    plant: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
  },
});
const place = values.store;
const workers = Number(values.workers ?? availableParallelism());

// The processes that run schedules find the server by its address.
const server = place === 'postgres' ? await startPostgres() : undefined;
if (server) process.env.COUNTERSIGN_SIMULATION_POSTGRES = server.url();
process.exitCode = (await work().finally(() => server?.stop())) ? 0 : 1;

async function work() {
  if (values.table) return table();
  if (values.plant) return plant(positionals[0]);
  if (values.replay !== undefined) return replay(Number(values.replay));
  const schedules = Number(values.schedules);
  // Long campaigns continue after a stop.
  const kept = join(root, `node_modules/.cache/simulation/${place}-${values.seed}.json`);
  const state = values.state ?? (schedules > 10_000 ? kept : undefined);
  return campaign({ schedules, seed: Number(values.seed), place, state, workers, block: Number(values.block) });
}

/** Runs one schedule twice: its trace, what it broke, and whether both runs are the same. */
async function replay(seed) {
  const worker = startWorker();
  const block = { from: seed, count: 1, place, trace: Number(values.trace) };
  const [first, second] = [await worker.run(block), await worker.run(block)];
  worker.stop();
  for (const found of first.found) {
    for (const line of found.trace) console.log(line);
    report(found, place);
  }
  const isSame = first.hashes === second.hashes;
  console.log(
    `Schedule ${seed}: trace ${first.hashes}${isSame ? ', twice the same' : ` and ${second.hashes}: NOT THE SAME`}`,
  );
  if (first.found.length === 0) console.log('It kept all laws.');
  return isSame && first.found.length === 0;
}

/** Plants all faults, or the one with this name, and says which of them were found. */
async function plant(name) {
  const { FAULTS, OPEN } = await import('../packages/countersign/test/simulate/planted/faults.ts');
  const { findPlanted } = await import('../packages/countersign/test/simulate/planted/find.ts');
  const faults = name === undefined ? FAULTS : [...FAULTS, ...OPEN].filter((fault) => fault.name === name);
  if (faults.length === 0) throw new Error(`No planted fault is named ${name}.`);
  const findings = await findPlanted(faults, workers, ({ fault, found, schedules, error }) => {
    const what = error ?? (found ? `schedule ${schedules}: ${found.slice(0, 200)}` : `in ${schedules} schedules`);
    console.log(`${found ? 'found' : 'NOT FOUND'}: ${fault.name}: ${what}`);
  });
  const missed = findings.filter(({ found }) => !found).length;
  console.log(`${findings.length - missed} of ${findings.length} planted faults were found.`);
  return missed === 0;
}

/** Writes the page of the planted faults. */
async function table() {
  const { FAULTS } = await import('../packages/countersign/test/simulate/planted/faults.ts');
  const { tableOf } = await import('../packages/countersign/test/simulate/planted/table.ts');
  writeFileSync(join(root, 'docs/reference/planted-faults.md'), tableOf(FAULTS));
  return true;
}
