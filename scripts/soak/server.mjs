// One server of the soak: agents that pay after approval and that pay through a sub-agent, a chat, and a webhook.
// It deletes runs that ended a while ago, as an operator would. Answers `measure` with what the process holds.
//
//   node --expose-gc scripts/soak/server.mjs <settings as JSON>
import { appendFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { countersign, z } from '../../packages/countersign/dist/index.js';
import { postgresStore } from '../../packages/countersign/dist/stores/postgres/postgres.js';
import { sqliteStore } from '../../packages/countersign/dist/stores/sqlite/sqlite.js';
import { serve, webhook } from '../../packages/server/dist/index.js';

const { place, ledger, port, sink, keepMs } = JSON.parse(process.argv[2]);
const store = place.startsWith('postgres:') ? postgresStore(place) : sqliteStore(place);

/** Asks for one payment, through the sub-agent if the text says so, then says that it is done. */
const model = {
  name: 'soak',
  async reply({ messages, tools }) {
    const asked = messages.findLast(({ role }) => role === 'user').content.find(({ text }) => text).text;
    const isPaid = messages.at(-1).role === 'tool';
    const name = asked.startsWith('ask') && tools.some((one) => one.name === 'clerk') ? 'clerk' : 'pay';
    const [order, amount] = asked.replace(/^ask /, '').split(' ');
    const input = name === 'clerk' ? { prompt: `${order} ${amount}` } : { order, amount: Number(amount) };
    return isPaid
      ? { content: [{ text: 'Done.' }], finishReason: 'stop' }
      : { content: [{ toolRequest: { name, input } }], finishReason: 'tool-calls' };
  },
};
const ai = countersign({ model, store, leaseMs: 5_000 });
const pay = ai.defineTool(
  {
    name: 'pay',
    description: 'Pays an order.',
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    needsApproval: { policy: { deciders: { people: ['ann', 'bob'] } } },
    title: ({ order, amount }) => `Pay ${amount} for ${order}`,
  },
  async ({ order }) => {
    await delay(Math.random() * 50);
    // The effect: from here on it has happened, whatever becomes of this process.
    appendFileSync(ledger, `${order}\n`);
    await delay(Math.random() * 50);
    return { paid: order };
  },
);
const clerk = ai.defineAgent({ name: 'clerk', description: 'Pays one order.', tools: [pay] });
ai.defineAgent({ name: 'payer', description: 'Pays orders.', tools: [pay] });
ai.defineAgent({ name: 'office', description: 'Has orders paid.', tools: [clerk] });

const server = await serve(ai, {
  port,
  publicUrl: `http://127.0.0.1:${port}`,
  worker: { concurrency: 16 },
  inboxDir: false,
  channels: [webhook({ url: sink, secret: 'whsec_c29hay1zb2FrLXNvYWstc29hay1zb2Fr', allow: ['127.0.0.1'] })],
});

/** The other server may have been first. */
async function remove(runId) {
  await ai.runs.delete(runId).catch((error) => {
    if (error.code !== 'unknown-run') throw error;
  });
}

async function removeOld() {
  for (;;) {
    await delay(15_000);
    for (const status of ['done', 'cancelled', 'failed']) {
      const { items } = await store.listRuns({ status, order: 'oldest', limit: 200 });
      for (const run of items) if (run.createdAt < Date.now() - keepMs) await remove(run.id);
    }
  }
}
removeOld().catch((error) => process.send({ problem: `deleting old runs: ${error.stack}` }));

process.on('message', (message) => {
  if (message !== 'measure') return;
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send({
    measured: {
      heap: heapUsed,
      external,
      rss,
      handles: process.getActiveResourcesInfo().length,
      files: readdirSync('/proc/self/fd').length,
    },
  });
});
process.on('disconnect', () => process.exit());
process.send({ listening: server.port });
