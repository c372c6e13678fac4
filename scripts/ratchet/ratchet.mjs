// Counts what the hot path costs, and compares it with costs.json. Fails if a number has risen by more than 3 %, or fallen by more
// than 10 %: then the file can be lowered, and the next change cannot spend what this one saved.
//
//   node scripts/ratchet/ratchet.mjs                          compares
//   node scripts/ratchet/ratchet.mjs --write                  lowers the numbers that have fallen
//   node scripts/ratchet/ratchet.mjs --write --reason '...'   raises numbers as well, and records why
import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from '../postgres.mjs';
import { compare, updated } from './compare.mjs';
import { importShare } from './import-share.mjs';

const FILE = path.join(import.meta.dirname, 'costs.json');
/** The optimising compilers remove allocations whenever they get to it. The new space is so large that nothing is collected. */
const FLAGS = ['--expose-gc', '--no-opt', '--no-maglev', '--no-sparkplug', '--min-semi-space-size=512'];
/** Nothing but the work of a round trip gets into the log. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  wal_level: 'minimal',
  max_wal_senders: 0,
};

const { values: options } = parseArgs({ options: { write: { type: 'boolean' }, reason: { type: 'string' } } });
const recorded = JSON.parse(readFileSync(FILE, 'utf8'));
const v8 = process.versions.v8.split('.').slice(0, 2).join('.');
const costs = await measure();
const rows = compare(recorded.costs, costs);
show();
if (options.write) write();
else judge();

async function measure() {
  const server = await postgres();
  try {
    const counted = await numbersOf('count.mjs', { ...(server && { POSTGRES_URL: server.url() }) });
    const imported = { ...(await numbersOf('count-import.mjs')), cpu: importShare() };
    const all = { ...counted, 'import, beside zod': imported };
    if (!server) all.PostgreSQL = recorded.costs.PostgreSQL;
    // Another V8 has objects of other sizes.
    if (v8 !== recorded.v8 && !options.write) {
      console.log(`Bytes are not compared: they were counted on V8 ${recorded.v8}, and this is ${v8}.\n`);
      for (const [name, cost] of Object.entries(all)) all[name] = { ...cost, bytes: recorded.costs[name]?.bytes ?? 0 };
    }
    return Object.fromEntries(Object.entries(all).map(([name, cost]) => [name, rounded(cost)]));
  } finally {
    await server?.stop();
  }
}

async function postgres() {
  try {
    return await startPostgres({ settings: SETTINGS });
  } catch (error) {
    if (process.env.CI) throw error;
    console.log(`PostgreSQL is left out: ${error.message}\n`);
    return undefined;
  }
}

function numbersOf(file, env) {
  const child = fork(path.join(import.meta.dirname, file), [], {
    execArgv: [...FLAGS, '--max-semi-space-size=512', '--no-warnings'],
    env: { ...process.env, ...env },
  });
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code} and counted nothing.`)));
  });
}

function rounded(cost) {
  return Object.fromEntries(
    Object.entries(cost).map(([what, value]) => [what, Number(value.toFixed(value < 100 ? 2 : 0))]),
  );
}

function show() {
  for (const name of Object.keys(costs)) {
    const parts = rows
      .filter((row) => row.name === name && (row.from !== 0 || row.to !== 0))
      .map(({ what, from, to, verdict }) => `${to} ${what}${verdict === 'same' ? '' : ` (${verdict} from ${from})`}`);
    console.log(`${name}: ${parts.join(', ')}`);
  }
}

function judge() {
  const changed = rows.filter(({ verdict }) => verdict !== 'same');
  if (changed.length === 0) return;
  process.exitCode = 1;
  console.log(`\n${changed.length} numbers differ from scripts/ratchet/costs.json:`);
  for (const { name, what, from, to, verdict } of changed)
    console.log(`  ${name}: ${what} ${verdict}, ${from} -> ${to ?? 'nothing'}`);
  console.log(
    '\nLowered or new: record it in the same commit, with `npm run ratchet -- --write`.' +
      '\nRaised: take it off the hot path. If it must be paid, run `npm run ratchet -- --write --reason "..."`.',
  );
}

function write() {
  const raised = rows
    .filter(({ verdict }) => verdict === 'raised')
    .map(({ name, what, from, to }) => [name, what, from, to]);
  if (raised.length > 0 && !options.reason)
    throw new Error(`These rise, so give a --reason: ${raised.map(([name, what]) => `${name}: ${what}`).join('; ')}.`);
  const raises = raised.map(([name, what, from, to]) => ({
    cost: `${name}: ${what}`,
    from,
    to,
    reason: options.reason,
  }));
  const next = { v8, costs: updated(recorded.costs, costs), raised: [...recorded.raised, ...raises] };
  writeFileSync(FILE, `${JSON.stringify(next, null, 2)}\n`);
  console.log('\nWritten to scripts/ratchet/costs.json.');
}
