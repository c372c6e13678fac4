// Load on a server that is killed repeatedly: starts runs and decides them over HTTP, then counts the effects.
//
//   node scripts/load.mjs [--runs 300] [--at-once 20] [--kills 5] [--stops 2] [--json]
//
// Bounded and on loopback only. Every run that the server acknowledged must end, every decided payment must be in the
// ledger exactly once, and what a kill left in doubt must have been asked, not guessed.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sqliteStore } from '../packages/countersign/dist/stores/sqlite/sqlite.js';
import { createClient } from '../packages/server/dist/client/index.js';
import { createToken } from '../packages/server/dist/index.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '300' },
    'at-once': { type: 'string', default: '20' },
    kills: { type: 'string', default: '5' },
    stops: { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
  },
});
const [runs, atOnce, kills, stops] = [values.runs, values['at-once'], values.kills, values.stops].map(Number);

const folder = mkdtempSync(join(tmpdir(), 'countersign-load-'));
const [path, ledger] = [join(folder, 'runs.sqlite'), join(folder, 'ledger')];
writeFileSync(ledger, '');
const counts = {
  runs,
  ended: 0,
  paid: 0,
  doubled: 0,
  unpaid: 0,
  doubts: 0,
  kills: 0,
  stops: 0,
  retries: 0,
  p50Ms: 0,
  p95Ms: 0,
};
const latencies = [];
let child;

try {
  const port = await freePort();
  const token = await makeToken();
  child = await startServer(port);
  const client = createClient(`http://127.0.0.1:${port}`, { token });
  const orders = Array.from({ length: runs }, (_, index) => `order-${index}`);
  const disturbing = disturb(port, () => runs - orders.length);
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let order = orders.pop(); order !== undefined; order = orders.pop()) await payOrder(client, order);
    }),
  );
  await disturbing;
  count();
} finally {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
report();

/** One order from its start to its end, however often the server is away. */
async function payOrder(client, order) {
  const { id } = await insist(() =>
    client.runs.start({ agent: 'payer', prompt: order, runId: order }, { idempotencyKey: `start-${order}` }),
  );
  for (;;) {
    const run = await insist(() => client.runs.get(id));
    if (run.status === 'done') return;
    if (run.status === 'failed' || run.status === 'cancelled')
      throw new Error(`${id} ${run.status}: ${run.error?.message}`);
    const card = run.requests.find(({ status }) => status === 'pending');
    if (!card) {
      await delay(20);
      continue;
    }
    if (card.kind === 'doubt') counts.doubts += 1;
    const decision = card.kind === 'doubt' ? settleDoubt(order) : { type: 'approve' };
    await insist(() =>
      client.requests.decide(card.id, { decision, digest: card.digest }, { idempotencyKey: `decide-${card.id}` }),
    );
  }
}

/** Plays the person who settles a doubt by reading the ledger. The process that might still write is dead by then. */
function settleDoubt(order) {
  return ledgerLines().includes(order) ? { type: 'respond', output: { paid: order } } : { type: 'approve' };
}

/** Until the server answers; a conflict or a refusal is an answer. */
async function insist(ask) {
  for (let tries = 0; ; tries++) {
    const startedAt = performance.now();
    try {
      const answer = await ask();
      latencies.push(performance.now() - startedAt);
      return answer;
    } catch (error) {
      const isAway = error.status === undefined || error.status === 0 || error.status === 503;
      // Another client decided first, or this one did before its connection was cut: read again.
      if (error.status === 409 && error.code === 'already-decided') return undefined;
      if (!isAway || tries > 500) throw error;
      counts.retries += 1;
      await delay(50);
    }
  }
}

/** Kills the server, or stops it cleanly, and starts it again: spread over the orders, whatever the machine's speed. */
async function disturb(port, begun) {
  const signals = [...Array(kills).fill('SIGKILL'), ...Array(stops).fill('SIGTERM')].sort(() => Math.random() - 0.5);
  for (const [index, signal] of signals.entries()) {
    const due = Math.min(runs, Math.ceil(((index + 1) * runs) / (signals.length + 1)));
    while (begun() < due) await delay(2);
    await delay(Math.random() * 30);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
    counts[signal === 'SIGKILL' ? 'kills' : 'stops'] += 1;
    child = await startServer(port);
  }
}

async function startServer(port) {
  const server = spawn(process.execPath, [join(import.meta.dirname, 'load-server.mjs'), path, ledger, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (!value?.startsWith('listening')) throw new Error('The server did not start.');
  return server;
}

async function makeToken() {
  const store = sqliteStore(path);
  const { token } = await createToken(store.notes, { person: 'load' });
  await store.close();
  return token;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function ledgerLines() {
  return existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').filter(Boolean) : [];
}

function count() {
  const lines = ledgerLines();
  const paid = new Map();
  for (const line of lines) paid.set(line, (paid.get(line) ?? 0) + 1);
  counts.ended = runs;
  counts.paid = paid.size;
  counts.doubled = [...paid.values()].filter((times) => times > 1).length;
  counts.unpaid = runs - paid.size;
  const sorted = latencies.toSorted((left, right) => left - right);
  counts.p50Ms = Math.round(sorted[Math.floor(sorted.length * 0.5)] ?? 0);
  counts.p95Ms = Math.round(sorted[Math.floor(sorted.length * 0.95)] ?? 0);
}

function report() {
  if (values.json) console.log(JSON.stringify(counts));
  else for (const [name, value] of Object.entries(counts)) console.log(`${name.padEnd(8)} ${value}`);
  if (counts.doubled + counts.unpaid > 0) process.exitCode = 1;
}
