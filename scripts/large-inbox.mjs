// Measures what the inbox costs with very many requests, beside what it costs with few, on SQLite and PostgreSQL.
//
//   node scripts/large-inbox.mjs [--pending 100000] [--settled 1000000] [--few 1000] [--stores sqlite,postgres]
//                                [--rounds 15] [--most 2] [--folder kept] [--url postgres://…]
//
// Seeds stores (scripts/seed-inbox.mjs), serves them, and asks over HTTP: alternately with few requests and with many, the
// shortest time of all rounds. Fails if something costs more than `--most` times as much, and over 5 ms more. With
// `--folder` and `--url`, what is seeded is kept, and used by the next measurement.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { serve } from '../packages/server/dist/index.js';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from './postgres.mjs';
import { openStore, orderOf, PEOPLE, roleOf, seededAgents, seedInbox } from './seed-inbox.mjs';

const { values } = parseArgs({
  options: {
    pending: { type: 'string', default: '100000' },
    settled: { type: 'string', default: '1000000' },
    few: { type: 'string', default: '1000' },
    stores: { type: 'string', default: 'sqlite,postgres' },
    rounds: { type: 'string', default: '15' },
    most: { type: 'string', default: '2' },
    folder: { type: 'string' },
    url: { type: 'string' },
    only: { type: 'string' },
  },
});
const [pending, settled, few, rounds, most] = ['pending', 'settled', 'few', 'rounds', 'most'].map((name) =>
  Number(values[name]),
);
/** A difference that is smaller than this is noise. */
const NOISE_MS = 5;
const DAY = 86_400_000;
const [PERSON] = PEOPLE.slice(42);

const now = Date.now();
const period = (first, last) => `createdAfter=${now - first * DAY}&createdBefore=${now - last * DAY}`;

/** What is measured, on the size of a world. `isFresh`: by a new server. `pauseMs`: so long after an answer that others would share. */
const OPERATIONS = [
  { name: 'first page', path: () => 'requests?limit=50' },
  { name: 'first page, newest', path: () => 'requests?limit=50&order=newest' },
  { name: 'for you', as: 'own', path: () => 'requests?limit=50' },
  { name: 'for you, newest', as: 'own', path: () => 'requests?limit=50&order=newest' },
  { name: 'search, one match', path: (size) => `requests?limit=50&search=${orderOf(size.settled + size.pending - 5)}` },
  { name: 'search, no match', path: () => 'requests?limit=50&search=zebra-crossing' },
  { name: 'search, many matches', path: () => 'requests?limit=50&search=invoice%20budget' },
  { name: 'search in history', path: (size) => `requests?limit=50&status=settled&search=${orderOf(7 % size.settled)}` },
  { name: 'counts', isFresh: true, path: () => 'stats?days=30' },
  { name: 'history, newest', path: () => 'requests?limit=50&status=settled&order=newest' },
  {
    name: 'history of a person and period',
    as: 'own',
    path: () => `requests?limit=10&status=settled&order=newest&${period(90, 60)}`,
  },
  { name: 'dashboard, first time', isFresh: true, path: () => 'insights?days=30' },
  { name: 'dashboard', pauseMs: 2_500, path: () => 'insights?days=30' },
  { name: 'dashboard of a tool', pauseMs: 2_500, path: () => 'insights?days=30&tool=payInvoice' },
  { name: 'dashboard as CSV', pauseMs: 2_500, path: () => 'insights.csv?days=30' },
  { name: 'open a pending request', path: (size) => `requests/${size.ids.pending}` },
  { name: 'open a settled request', path: (size) => `requests/${size.ids.settled}` },
].filter(({ name }) => values.only === undefined || name.includes(values.only));

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'countersign-large-'));
mkdirSync(folder, { recursive: true });
const failed = [];
try {
  for (const kind of values.stores.split(',')) await measureStore(kind);
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
if (failed.length > 0) {
  console.log(`\nMore than ${most} times: ${failed.join(', ')}.`);
  process.exitCode = 1;
}

async function measureStore(kind) {
  const database = kind === 'postgres' && values.url === undefined ? await startPostgres() : undefined;
  const url = values.url ?? database?.url();
  const worlds = [];
  try {
    for (const size of [
      { pending: few, settled: few },
      { pending, settled },
    ])
      worlds.push(await openWorld(kind, url, size));
    console.log(`\n${kind}: ${few} pending and ${few} settled, beside ${pending} and ${settled}\n`);
    for (const operation of OPERATIONS) {
      const [small, large] = await alternately(operation, worlds);
      const isTooMuch = large > most * small && large - small > NOISE_MS;
      if (isTooMuch) failed.push(`${operation.name} on ${kind}`);
      const figures = [small, large].map((ms) => `${ms.toFixed(1).padStart(9)} ms`).join('');
      console.log(
        `${operation.name.padEnd(34)}${figures}${(large / small).toFixed(1).padStart(8)} ×${isTooMuch ? '  !' : ''}`,
      );
    }
  } finally {
    for (const { server, store } of worlds) {
      await server.close();
      await store.close();
    }
    await database?.stop();
  }
}

async function openWorld(kind, url, size) {
  const name = `inbox_${size.pending}_${size.settled}`;
  const place = kind === 'sqlite' ? join(folder, `${name}.sqlite`) : await schemaIn(url, name);
  const store = await openStore(place);
  const found = await store.listRequests({ limit: 1 });
  if (found.items.length === 0) {
    const startedAt = performance.now();
    await seedInbox(store, size);
    if (kind === 'postgres') await vacuum(place);
    console.log(
      `seeded ${kind} with ${size.pending} and ${size.settled} in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`,
    );
  }
  const [{ id }] = (await store.listRequests({ limit: 1, order: 'newest' })).items;
  const [old] = (await store.listRequests({ limit: 1, settled: true })).items;
  const { ai } = seededAgents(store);
  const world = { store, ai, size: { ...size, ids: { pending: id, settled: old.id } } };
  return { ...world, server: await open(ai) };
}

function open(ai) {
  const own = { id: PERSON, roles: [roleOf(PERSON)], reach: 'own' };
  const boss = { id: 'boss', reach: 'all' };
  const identify = ({ headers }) => (headers.get('x-reach') === 'own' ? own : boss);
  return serve(ai, { port: 0, inboxDir: false, worker: false, identify });
}

async function schemaIn(url, name) {
  await onServer(url, `CREATE SCHEMA IF NOT EXISTS ${name}`);
  return `${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`;
}

/** As the server's own autovacuum does a little later. */
function vacuum(place) {
  return onServer(place, 'VACUUM ANALYZE');
}

async function onServer(url, text) {
  const { default: pg } = await import('pg');
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}

/** The shortest time in each world. */
async function alternately(operation, worlds) {
  const shortest = worlds.map(() => Number.POSITIVE_INFINITY);
  for (let round = -2; round < rounds; round += 1)
    for (const [index, world] of worlds.entries()) {
      const ms = await timed(operation, world);
      if (round >= 0) shortest[index] = Math.min(shortest[index], ms);
    }
  return shortest;
}

async function timed({ path, as, isFresh, pauseMs = 0 }, { ai, server, size }) {
  const asked = isFresh ? await open(ai) : server;
  const headers = { 'x-reach': as ?? 'all' };
  const ask = async (what) => {
    const response = await fetch(`http://127.0.0.1:${asked.port}/api/v1/${what}`, { headers });
    const body = await response.text();
    if (!response.ok) throw new Error(`${what}: ${response.status} ${body.slice(0, 300)}`);
    return body;
  };
  await delay(pauseMs);
  await ask('me');
  const startedAt = performance.now();
  await ask(path(size));
  const ms = performance.now() - startedAt;
  if (isFresh) await asked.close();
  return ms;
}
