// A server under mixed load for hours: does what it holds stay flat? Two servers share one store. One lives all the time
// and is measured every minute; the other is killed every few minutes and started again.
//
//   npm run soak -- [--store sqlite|postgres|both] [--minutes 120] [--out results.json]
//
// Bounded, on loopback only. The exit code is 1 if a payment was made twice or was never made, a run did not end, or a
// figure grew by more than a tenth between the second and the last quarter of the time.
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { postgresStore } from '../../packages/countersign/dist/stores/postgres/postgres.js';
import { sqliteStore } from '../../packages/countersign/dist/stores/sqlite/sqlite.js';
import { createClient } from '../../packages/server/dist/client/index.js';
import { createToken } from '../../packages/server/dist/index.js';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../free-port.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from '../postgres.mjs';
import { flatness } from './flatness.mjs';
import { ageNotes, tableSizes } from './table-sizes.mjs';

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'both' },
    minutes: { type: 'string', default: '120' },
    out: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
const endsAt = Date.now() + minutes * 60_000;
const [KILL_EVERY_MS, KEEP_MS, STREAMS, LEFT] = [180_000, 120_000, 20, 10];
const results = await Promise.all((values.store === 'both' ? ['sqlite', 'postgres'] : [values.store]).map(soak));
for (const { problems } of results) if (problems.length > 0) process.exitCode = 1;
if (values.out) writeFileSync(values.out, `${JSON.stringify(results, null, 1)}\n`);

async function soak(store) {
  const folder = mkdtempSync(join(tmpdir(), `countersign-soak-${store}-`));
  const database = store === 'postgres' ? await startPostgres() : undefined;
  const place = database?.url() ?? join(folder, 'runs.sqlite');
  const ledger = join(folder, 'ledger');
  writeFileSync(ledger, '');
  const sink = await startSink();
  const settings = { place, ledger, sink: sink.url, keepMs: KEEP_MS };
  const counts = {
    runs: 0,
    chats: 0,
    gateCalls: 0,
    decisions: 0,
    doubts: 0,
    reads: 0,
    streams: 0,
    kills: 0,
    retries: 0,
  };
  const [problems, samples, orders] = [[], [], { approved: new Set(), rejected: new Set(), made: 0 }];
  const [servers, aged] = [[], []];
  try {
    const tokens = await makeTokens(store, place);
    servers.push(await startServer({ ...settings, port: await freePort() }, problems));
    servers.push(await startServer({ ...settings, port: await freePort() }, problems));
    const world = { servers, tokens, counts, problems, orders, ledger };
    const busy = [0, 1, 2].map((index) => load(world, index));
    const streams = [keepStreams(world), killNow(world, settings)];
    while (Date.now() < endsAt) {
      await delay(Math.min(60_000, Math.max(1, endsAt - Date.now())));
      aged.push(await ageNotes(place, aged.at(-2)));
      samples.push({ ...(await measure(servers[0])), ...(await tableSizes(place)), made: orders.made });
      say(store, counts, samples.at(-1));
    }
    await Promise.all([...busy, ...streams]);
    problems.push(...paidAsDecided(orders, ledger), ...flatness(samples));
  } catch (error) {
    problems.push(String(error.stack));
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
    sink.close();
    await database?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${store}: ${problems.length === 0 ? 'flat, nothing twice, nothing lost' : problems.join('\n  ')}`);
  return { store, minutes, node: process.version, counts: { ...counts, notices: sink.received() }, samples, problems };
}

/** One after the other, until the time is over: a run, a chat, a call from outside; with reads in between. */
async function load(world, index) {
  const kinds = [payByRun, payByRun, payByChat, callFromOutside];
  for (let done = 0; Date.now() < endsAt; done++) {
    const order = `order-${index}-${done}`;
    world.orders.made += 1;
    try {
      await kinds[(done + index) % kinds.length](world, order);
      await readLists(world);
    } catch (error) {
      world.problems.push(`${order}: ${error.stack}`);
    }
    await delay(1_000 + Math.random() * 2_000);
  }
}

async function payByRun(world, order) {
  const agent = Math.random() < 0.3 ? 'office' : 'payer';
  const prompt = `${agent === 'office' ? 'ask ' : ''}${order} ${Math.ceil(Math.random() * 900)}`;
  await insist(world, 'carol', (client) =>
    client.runs.start({ agent, prompt, runId: order }, { idempotencyKey: order }),
  );
  world.counts.runs += 1;
  await untilEnd(world, order);
}

/** As a browser posts it: the answer is a stream, which is read to its end, or left after its first bytes. */
async function payByChat(world, order) {
  const body = JSON.stringify({
    id: order,
    trigger: 'submit-message',
    messages: [{ id: `${order}-1`, role: 'user', parts: [{ type: 'text', text: `${order} 42` }] }],
  });
  await insist(world, 'carol', async (_, { url, token }) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/v1/chat/payer`, { method: 'POST', headers, body });
    if (Math.random() < 0.3) return answer.body.cancel();
    await answer.text();
  });
  world.counts.chats += 1;
  await untilEnd(world, order);
}

async function callFromOutside(world, order) {
  const asked = { tool: 'deploy', key: order, input: { order }, title: `Deploy ${order}` };
  const call = await insist(world, 'carol', (client) => client.gate.ask(asked));
  const secret = `secret-of-${order}`;
  await insist(world, 'ann', (client) =>
    client.requests.decide(call.id, { decision: { type: 'approve' } }, { idempotencyKey: `decide-${order}` }),
  );
  world.counts.decisions += 1;
  await insist(world, 'carol', (client) => client.gate.start(call.runId, { token: secret, lease: 60 }));
  await insist(world, 'carol', (client) => client.gate.finish(call.runId, { token: secret, output: { order } }));
  world.counts.gateCalls += 1;
}

/** Decides what the run asks until it has ended: mostly yes. The two people sometimes decide at the same moment. */
async function untilEnd(world, order) {
  const name = order;
  for (;;) {
    const run = await insist(world, 'carol', (client) => client.runs.get(name));
    if (['done', 'cancelled'].includes(run.status)) return;
    if (run.status === 'failed') throw new Error(`The run failed: ${run.error?.message}`);
    const card = run.requests.find(({ status }) => status === 'pending');
    if (card) await decide(world, order, card);
    await delay(100);
  }
}

async function decide({ orders, counts, ledger, ...world }, order, card) {
  const isDoubt = card.kind === 'doubt';
  // The process that might still pay is dead by the time a doubt is asked.
  const isPaid = () => readFileSync(ledger, 'utf8').split('\n').includes(order);
  const decision = isDoubt
    ? isPaid()
      ? { type: 'respond', output: { paid: order } }
      : { type: 'approve' }
    : Math.random() < 0.2
      ? { type: 'reject', reason: 'Not now.' }
      : { type: 'approve' };
  if (isDoubt) counts.doubts += 1;
  else orders[decision.type === 'reject' ? 'rejected' : 'approved'].add(order);
  counts.decisions += 1;
  const people = Math.random() < 0.2 ? ['ann', 'bob'] : ['ann'];
  await Promise.all(
    people.map((person) =>
      insist({ counts, ...world }, isDoubt ? 'bob' : person, (client) =>
        client.requests.decide(card.id, { decision, digest: card.digest }, { idempotencyKey: `${person}-${card.id}` }),
      ),
    ),
  );
}

async function readLists(world) {
  const reads = [
    (client) => client.requests.list({ limit: 20 }),
    (client) => client.requests.list({ status: 'settled', limit: 50 }),
    (client) => client.runs.list({ limit: 20 }),
    (client) => client.requests.count({ for: 'me' }),
    (client) => client.insights(),
    (client) => client.stats(),
  ];
  await insist(world, 'ann', reads[Math.floor(Math.random() * reads.length)]);
  world.counts.reads += 1;
}

/** Streams that are read, streams that nobody reads any more, and streams that are cut off and opened again. */
async function keepStreams({ servers, tokens, counts }) {
  const open = [];
  while (Date.now() < endsAt) {
    while (open.length < STREAMS + LEFT) {
      const { url } = servers[0];
      const asked = request(`${url}/api/v1/changes`, { headers: { authorization: `Bearer ${tokens.ann}` } });
      const isLeft = open.filter((one) => one.isLeft).length < LEFT;
      asked.on('response', (response) => (isLeft ? response.pause() : response.resume()).on('error', () => {}));
      asked.on('error', () => {}).end();
      open.push({ asked, isLeft });
      counts.streams += 1;
    }
    await delay(5_000);
    for (const { asked } of open.splice(Math.floor(Math.random() * open.length), 3)) asked.destroy();
  }
  for (const { asked } of open) asked.destroy();
}

async function killNow({ servers, counts, problems }, settings) {
  while (Date.now() + KILL_EVERY_MS < endsAt) {
    await delay(KILL_EVERY_MS * (0.5 + Math.random()));
    const { child, url } = servers[1];
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
    counts.kills += 1;
    servers[1] = await startServer({ ...settings, port: Number(new URL(url).port) }, problems);
  }
}

/** Asks either server until one answers. A conflict is an answer: someone was first. */
async function insist({ servers, tokens, counts }, person, ask) {
  for (let tries = 0; ; tries++) {
    const { url } = servers[Math.random() < 0.5 ? 0 : 1];
    const token = tokens[person];
    try {
      return await ask(createClient(url, { token }), { url, token });
    } catch (error) {
      if (error.status === 409) return undefined;
      const isAway = !error.status || error.status === 503;
      if (!isAway || tries > 500) throw error;
      counts.retries += 1;
      await delay(100);
    }
  }
}

function startServer(settings, problems) {
  const child = fork(join(import.meta.dirname, 'server.mjs'), [JSON.stringify(settings)], {
    execArgv: ['--expose-gc'],
  });
  child.on('message', ({ problem }) => problem && problems.push(problem));
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
    child.once('message', ({ listening }) => resolve({ child, url: `http://127.0.0.1:${listening}` }));
  });
}

function measure({ child }) {
  return new Promise((resolve) => {
    const heard = ({ measured }) => {
      if (!measured) return;
      child.off('message', heard);
      resolve(measured);
    };
    child.on('message', heard);
    child.send('measure');
  });
}

async function makeTokens(kind, place) {
  const store = kind === 'postgres' ? postgresStore(place) : sqliteStore(place);
  const tokens = {};
  for (const person of ['ann', 'bob', 'carol'])
    tokens[person] = (await createToken(store.notes, { person, reach: 'all' })).token;
  await store.close();
  return tokens;
}

/** Receives the webhooks. */
async function startSink() {
  let received = 0;
  const server = createServer((asked, answer) => {
    received += 1;
    asked.resume();
    answer.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, received: () => received, close: () => server.close() };
}

function paidAsDecided({ approved, rejected }, ledger) {
  const times = new Map();
  for (const order of readFileSync(ledger, 'utf8').split('\n').filter(Boolean))
    times.set(order, (times.get(order) ?? 0) + 1);
  return [
    ...[...times].filter(([, count]) => count > 1).map(([order]) => `${order} was paid twice.`),
    ...[...times.keys()].filter((order) => !approved.has(order)).map((order) => `${order} was paid without approval.`),
    ...[...approved]
      .filter((order) => !rejected.has(order) && !times.has(order))
      .map((order) => `${order} was never paid.`),
  ];
}

function say(store, counts, { heap, handles, files, bytes, rows }) {
  const at = new Date().toISOString().slice(11, 16);
  const figures = `heap ${(heap / 1e6).toFixed(1)} MB, ${handles} handles, ${files} files, store ${(bytes / 1e6).toFixed(1)} MB, ${rows} rows`;
  console.log(
    `${at} ${store.padEnd(8)} ${figures} · ${Object.entries(counts)
      .map((pair) => pair.join(' '))
      .join(' ')}`,
  );
}
