// A server in a child process whose store has a long history, and which measures how long its event loop is blocked.
//
//   node blocking-child.ts <file of the store> <settled requests>
import { writeSync } from 'node:fs';
import { countersign, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { digestOf } from '../../../countersign/src/runs/questions/card.ts';
import { createToken } from '../../src/identity/tokens.ts';
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
const tokenOf = async (person: string, rights: object) =>
  (await createToken(ai.runs.notes, { person, ...rights })).token;

const LARGE = { text: 'x'.repeat(400_000), items: Array.from({ length: 6_000 }, (_, index) => ({ index })) };
const gate = ai.gate({ name: 'deploy' });
const large = await gate.request(LARGE, { key: 'large', by: 'ann' });
const other = await gate.request({ to: 'x' }, { key: 'small', by: 'ann' });
await fill(Number(length));
const tokens = { boss: await tokenOf('boss', { reach: 'all' }), eve: await tokenOf('eve', {}) };
writeSync(1, `${JSON.stringify({ url: `http://127.0.0.1:${server.port}`, tokens, large, other })}\n`);

/** Each turn of the loop in which it is blocked for long uses that much time of the thread, even while others use the processor. */
let before = process.threadCpuUsage();
let longestMs = 0;
let isNew = true;
const tick = () => {
  const now = process.threadCpuUsage();
  if (!isNew) longestMs = Math.max(longestMs, (now.user - before.user + now.system - before.system) / 1_000);
  isNew = false;
  before = now;
  setTimeout(tick, 1);
};
tick();

process.on('message', () => {
  process.send?.(longestMs);
  longestMs = 0;
  isNew = true;
});
process.on('disconnect', () => process.exit());

/** Settled requests of ann, as copies of one; every hundredth is large. */
async function fill(count: number): Promise<void> {
  const ofRequest = async (id: string) => (await store.interrupt(id)) ?? fail();
  const [small, big] = [await ofRequest('id' in other ? other.id : ''), await ofRequest('id' in large ? large.id : '')];
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
