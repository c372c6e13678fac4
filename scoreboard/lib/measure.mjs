// One row: one system in one way, through every fault.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, faultsIn } from './faults.mjs';
import { startWorker } from './process.mjs';

export const COLUMNS = ['doubled', 'lost', 'undecided', 'wrong', 'stuck'];
const PAY_MS = 60;

export async function measure({ system, way, folder, times, seed, faults = Object.keys(FAULTS), isQuick = false }) {
  const { about } = await import(`../systems/${system}/about.mjs`);
  const server = await startServer(about.needs, join(folder, `server-${system}-${way}`));
  const row = {
    system,
    way,
    name: about.name,
    store: about.store,
    keeps: about.keeps,
    date: today(),
    times,
    faults: {},
  };
  row.versions = versionsOf(system, about.packages);
  try {
    const open = (name) => opener({ system, way, folder: join(folder, `${system}-${way}-${name}`), server, name });
    if (!isQuick) row.cpuMs = await cpuOf(await open('cpu'));
    for (const [index, name] of faults.entries()) {
      if (about.skips?.[name] !== undefined) {
        row.faults[name] = { skipped: about.skips[name] };
        continue;
      }
      const from = performance.now();
      row.faults[name] = await through(FAULTS[name], await open(name.replaceAll(' ', '-')), {
        times,
        seed: seed * 100 + index,
        index,
        atOnce: about.atOnce,
      });
      if (!isQuick)
        console.error(
          `${system} ${way} ${name}: ${JSON.stringify(row.faults[name])}, ${((performance.now() - from) / 1_000).toFixed(0)} s`,
        );
    }
    return row;
  } finally {
    await server?.stop();
  }
}

/** Starts workers on one folder, with one bank. */
async function opener({ system, way, folder, server, name }) {
  mkdirSync(folder, { recursive: true });
  const bank = join(folder, 'bank');
  const database = await server?.database(`${system}_${way}_${name}`.replace(/\W/g, '_'));
  const common = { folder, bank, database, gated: way === 'gated', variant: way, payMs: PAY_MS };
  return {
    start: (process = '', options = {}) => startWorker(system, { ...common, process, ...options }),
    bank: {
      /** The amounts that were paid for one payment. */
      of: (id) =>
        existsSync(bank)
          ? readFileSync(bank, 'utf8')
              .split('\n')
              .map((line) => line.split(' '))
              .filter(([to]) => to === id)
              .map(([, amount]) => Number(amount))
          : [],
    },
  };
}

async function through(fault, { start, bank }, { times, seed, index, atOnce }) {
  const ids = Array.from({ length: times }, (_, count) => `pay-${index}-${count + 1}`);
  ids.inGroups = (size) =>
    Array.from({ length: Math.ceil(times / size) }, (_, at) => ids.slice(at * size, (at + 1) * size));
  const random = randomOf(seed);
  try {
    const samples = await fault({ start, ids, random, bank, atOnce });
    if (samples === undefined) return { open: false };
    const found = samples.map((one) => {
      const payments = bank.of(one.id);
      return { ...one, payments, found: faultsIn({ ...one, payments }) };
    });
    const count = (test) => found.filter(test).length;
    return {
      of: times,
      ...Object.fromEntries(COLUMNS.map((column) => [column, count((one) => one.found[column])])),
      asked: count(({ asked }) => asked),
      again: count(({ again }) => again),
      ...(process.env.SCOREBOARD_SAMPLES && { samples: found }),
    };
  } catch (error) {
    return { failed: String(error?.message ?? error).slice(0, 500) };
  }
}

/** The CPU time of one approved payment in the program, in milliseconds: other work on the machine changes it little. */
async function cpuOf({ start }) {
  const worker = await start('', { payMs: 0 });
  const pay = async (from, until) => {
    for (let at = from; at < until; at++) {
      await worker.order('start', [`pay-98-${at}`]);
      await worker.order('decide', [`pay-98-${at}`, 'approve']);
    }
  };
  await pay(0, 10);
  const { said: before } = await worker.order('cpu');
  await pay(10, 40);
  const { said: after } = await worker.order('cpu');
  await worker.stop();
  return Number(((after.user + after.system - before.user - before.system) / 30_000).toPrecision(2));
}

/** The server that a system keeps its state in, with a database for each fault. */
async function startServer(needs, folder) {
  if (needs === 'postgres') {
    const { startPostgres } = await import('../../bench/lib/pg.mjs');
    return startPostgres(folder);
  }
  if (needs !== 'restate') return undefined;
  const { makeCluster, freePorts } = await import('../../packages/restate/test/restate-node.ts');
  let node;
  const stop = async () => node?.kill();
  return {
    stop,
    async database(name) {
      await stop();
      [node] = await makeCluster(join(folder, name));
      await node.start();
      const [port] = await freePorts(1);
      return { ingress: node.ingress, admin: node.admin, port };
    },
  };
}

/** The versions, and how many packages npm installs. */
function versionsOf(system, packages) {
  const read = (path) => JSON.parse(readFileSync(join(import.meta.dirname, '..', path), 'utf8'));
  if (system === 'countersign') {
    const own = read('../packages/countersign/package.json');
    return {
      countersign: own.version,
      packages: 1 + closureOf(Object.keys(own.dependencies), read('../package-lock.json')),
    };
  }
  const { packages: installed } = read(`systems/${system}/package-lock.json`);
  const versions = packages.map((name) => [name, installed[`node_modules/${name}`].version]);
  return { ...Object.fromEntries(versions), packages: Object.keys(installed).length - 1 };
}

/** How many packages these ones bring, with theirs. */
function closureOf(names, { packages }) {
  const found = new Set();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    open.push(...Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}));
  }
  return found.size;
}

const today = () => new Date().toISOString().slice(0, 10);

/** The same numbers for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
