// A server in a child process whose store has a long history, and which measures how long its event loop is blocked.
//
//   node blocking-child.ts <file of the store> <settled requests>
import { countersign, memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import library from 'web-push';
import { digestOf } from '../../../countersign/src/runs/requests/card.ts';
import { Access } from '../../src/access.ts';
import { webPush } from '../../src/channels/push/web-push.ts';
import { slack } from '../../src/channels/slack/slack.ts';
import { createToken } from '../../src/identity/tokens.ts';
import { decisionLinks } from '../../src/links/decision-links.ts';
import { serve } from '../../src/serve.ts';

const [path = '', length = '0'] = process.argv.slice(2);
const store = sqliteStore(path);
const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : 'Hello.'));
const ai = countersign({ model, store });
ai.defineAgent({
  name: 'parrot',
  tools: [ai.defineTool({ name: 'look', description: 'Looks.', inputSchema: z.any() }, async () => 0)],
});
const server = await serve(ai, { port: 0, inboxDir: false, metrics: 'open' });
// Channels of the first would deliver notices while it is measured.
const sideAi = countersign({ model, store: memoryStore() });
const push = webPush({ vapid: { ...library.generateVAPIDKeys(), subject: 'mailto:ops@example.com' } });
const slackChannel = slack({
  token: 'xoxb-1',
  signingSecret: 's'.repeat(32),
  channel: 'C1',
  api: 'http://127.0.0.1:9/api',
});
const sideServer = await serve(sideAi, { port: 0, inboxDir: false, channels: [slackChannel, push] });
const tokensFor = async ({ runs: { notes } }: typeof ai) => ({
  boss: (await createToken(notes, { person: 'boss', reach: 'all' })).token,
  eve: (await createToken(notes, { person: 'eve' })).token,
});

const LARGE = { text: 'x'.repeat(400_000), items: Array.from({ length: 3_000 }, (_, index) => ({ index })) };
const gate = ai.gate({ name: 'deploy' });
const [large, second, third, linked] = [
  await asked('0', LARGE),
  await asked('1', LARGE),
  await asked('2', LARGE),
  await asked('3', LARGE),
];
const other = await asked('small', { to: 'x' });
const granted = await asked('granted', { to: 'x' }, ai.gate({ name: 'ship' }));
const pending = [];
for (let index = 0; index < 500; index += 1) pending.push(await asked(`pending-${index}`, { index }));
await fill(Number(length));
const url = `http://127.0.0.1:${server.port}`;
const links = decisionLinks({ ai, access: new Access(ai, {}, () => undefined) } as never, { publicUrl: url });
const link = await links.make(await ai.runs.request(linked.id), { person: 'ann', contact: {} }, 'mail');
const side = { url: `http://127.0.0.1:${sideServer.port}`, tokens: await tokensFor(sideAi) };
const main = { url, tokens: await tokensFor(ai) };
const world = { main, side, large, others: [large, second, third], linked, granted, other, pending, link };
process.send?.(world);

/** Each turn of the loop in which it is blocked for long uses that much time of the thread, even while others use the processor. */
let before = process.threadCpuUsage();
let longestMs = 0;
const look = () => {
  const now = process.threadCpuUsage();
  longestMs = Math.max(longestMs, (now.user - before.user + now.system - before.system) / 1_000);
  before = now;
};
const tick = () => {
  look();
  setTimeout(tick, 1);
};
tick();

process.on('message', () => {
  look();
  process.send?.(longestMs);
  longestMs = 0;
});
process.on('disconnect', () => process.exit());

/** A pending request of ann. */
async function asked(key: string, input: object, by = gate) {
  const { id } = { id: '', ...(await by.request(input as never, { key, by: 'ann' })) };
  const { runId, digest } = await ai.runs.request(id);
  return { id, runId, digest };
}

/** Settled requests of ann, as copies of one; every hundredth is large. */
async function fill(count: number): Promise<void> {
  const ofRequest = async (id: string) => (await store.request(id)) ?? fail();
  const [small, big] = [await ofRequest(other.id), await ofRequest(large.id)];
  const now = Date.now();
  for (let done = 0; done < count; done += 500) {
    const runId = `old-${done}`;
    const opened = Array.from({ length: Math.min(500, count - done) }, (_, index) => {
      const {
        startedBy: _by,
        settledAt: _at,
        settlement: _settlement,
        ...card
      } = index % 100 === 1 && done < 10_000 ? big : small;
      return {
        ...card,
        id: `${runId}:${index}`,
        digest: digestOf(`${runId}:${index}`, card.card),
        runId,
        createdAt: now - (count - done - index) * 10_000,
      };
    });
    const common = { runId, hash: 'none', wakeAt: null, outcome: null };
    const told = [{ type: 'user-spoke', v: 1, messages: [], at: now }] as never;
    const create = { id: runId, agent: 'gate', startedBy: 'ann' };
    await store.append({ ...common, create, expectedVersion: 0, events: told, status: 'waiting', opened, settled: [] });
    const settlement = { decision: { type: 'approve' }, by: 'ann', channel: 'api', at: now };
    const settled = opened.map(({ id }) => ({ id, settlement }));
    await store.append({ ...common, expectedVersion: 1, events: told, status: 'done', opened: [], settled });
  }
}

function fail(): never {
  throw new Error('The request was not recorded.');
}
