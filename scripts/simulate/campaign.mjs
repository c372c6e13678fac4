// Runs many schedules: with progress, from where the last run stopped, and with their figures at the end.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { startWorker } from '../../packages/countersign/test/simulate/workers.ts';

/** A worker is replaced after so many blocks, so that a campaign of days keeps its speed. */
const BLOCKS_OF_A_WORKER = 250;
const SAY_EVERY_MS = 10_000;

export async function campaign({ schedules, seed, place, state: path, workers = availableParallelism(), block: size }) {
  const state = readState(path, { seed, place });
  const before = state.figures.schedules ?? 0;
  const began = Date.now();
  const until = seed + schedules;
  let next = state.next;
  const again = [...state.again];
  if (before > 0) console.log(`Continues after ${before} schedules, as ${path} says.`);
  const take = () => {
    if (again.length > 0) return again.shift();
    if (next >= until || state.found.length >= 10) return undefined;
    const block = { from: next, count: Math.min(size, until - next), place };
    next += block.count;
    return block;
  };
  const open = new Map();
  const spent = state.seconds;
  const save = () => {
    state.seconds = spent + (Date.now() - began) / 1_000;
    write(path, { ...state, next, again: [...again, ...open.values()] });
  };
  const timer = setInterval(() => say(state, schedules, before, began), SAY_EVERY_MS);
  await Promise.all(
    Array.from({ length: workers }, async () => {
      let worker = startWorker();
      let blocks = 0;
      for (let block = take(); block !== undefined; block = take()) {
        if (blocks++ % BLOCKS_OF_A_WORKER === BLOCKS_OF_A_WORKER - 1) {
          worker.stop();
          worker = startWorker();
        }
        open.set(block.from, block);
        const { figures, hashes, found } = await worker.run(block);
        open.delete(block.from);
        for (const [name, value] of Object.entries(figures)) state.figures[name] = (state.figures[name] ?? 0) + value;
        state.hashes = together(state.hashes, hashes);
        state.found.push(...found);
        // A stop at any moment loses the blocks that are under way, and no others.
        save();
        for (const one of found) report(one, place);
      }
      worker.stop();
    }),
  );
  clearInterval(timer);
  save();
  print(state);
  return state.found.length === 0;
}

function readState(path, { seed, place }) {
  const fresh = { seed, place, next: seed, again: [], figures: {}, hashes: '0', found: [], seconds: 0 };
  if (!path) return fresh;
  try {
    const state = JSON.parse(readFileSync(path, 'utf8'));
    return state.seed === seed && state.place === place ? state : fresh;
  } catch {
    return fresh;
  }
}

/** The hashes of all blocks as one, in whatever order they ended. */
const together = (all, hashes) => ((Number.parseInt(all, 16) + Number.parseInt(hashes, 16)) >>> 0).toString(16);

/** Whole or not at all, so that a stop in the middle loses nothing. */
function write(path, state) {
  if (!path) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, JSON.stringify(state));
  renameSync(`${path}.new`, path);
}

function say({ figures, found }, schedules, before, began) {
  const done = figures.schedules ?? 0;
  const seconds = (Date.now() - began) / 1_000;
  const each = (done - before) / seconds;
  const left = each > 0 ? `, about ${Math.ceil((schedules - done) / each / 60)} minutes left` : '';
  console.log(`${done} of ${schedules} schedules, ${each.toFixed(1)} per second${left}, ${found.length} violations`);
}

/** What a failing schedule found, the end of its trace, and how to run it again. */
export function report({ seed, hash, problems, trace }, place) {
  console.log(`\nSchedule ${seed} (trace ${hash}) broke a law:`);
  for (const problem of problems.slice(0, 5)) console.log(`  ${problem}`);
  console.log(
    `Its last events:\n${trace
      .slice(-25)
      .map((line) => `  ${line}`)
      .join('\n')}`,
  );
  console.log(`Run it again: npm run simulate -- --replay ${seed}${place === 'memory' ? '' : ` --store ${place}`}\n`);
}

const NAMES = {
  schedules: 'schedules',
  events: 'events',
  virtualMs: 'hours of virtual time',
  runs: 'runs',
  decisions: 'decisions of people',
  effects: 'effects outside',
  doubts: 'calls in doubt',
  deaths: 'deaths of processes',
  stops: 'clean stops of processes',
  torn: 'failures of power in a commit',
  granted: 'calls under grants',
};

function print({ figures, found, seconds }) {
  for (const [name, text] of Object.entries(NAMES)) {
    const value = figures[name] ?? 0;
    const shown = name === 'virtualMs' ? (value / 3_600_000).toFixed(0) : value.toLocaleString('en');
    console.log(`${shown.padStart(16)} ${text}`);
  }
  console.log(`${found.length.toLocaleString('en').padStart(16)} violations, in ${(seconds / 60).toFixed(1)} minutes`);
}
