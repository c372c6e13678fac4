// The server that load.mjs kills: one agent that pays after approval and writes each payment into a ledger.
//
//   node scripts/load-server.mjs <store.sqlite> <ledger> <port>
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { countersign, z } from '../packages/countersign/dist/index.js';
import { sqliteStore } from '../packages/countersign/dist/stores/sqlite/sqlite.js';
import { serve } from '../packages/server/dist/index.js';

const [path, ledger, port] = process.argv.slice(2);

/** Asks for one payment, then says that it is done. */
const model = {
  name: 'load',
  async reply({ messages }) {
    const isPaid = messages.some(({ role }) => role === 'tool');
    const said = messages.find(({ role }) => role === 'user').content[0].text;
    return isPaid
      ? { content: [{ text: 'Done.' }], finishReason: 'stop' }
      : { content: [{ toolRequest: { name: 'pay', input: { order: said } } }], finishReason: 'tool-calls' };
  },
};

// A worker that was killed is silent for a second before others take its runs over.
const store = sqliteStore(path);
const ai = countersign({ model, store, leaseMs: 1_000 });
const pay = ai.defineTool(
  {
    name: 'pay',
    description: 'Pays an order.',
    inputSchema: z.object({ order: z.string() }),
    needsApproval: true,
  },
  async ({ order }) => {
    await delay(Math.random() * 20);
    // The effect: from here on it has happened, whatever becomes of this process.
    appendFileSync(ledger, `${order}\n`);
    await delay(Math.random() * 20);
    return { paid: order };
  },
);
ai.defineAgent({ name: 'payer', description: 'Pays orders.', tools: [pay] });

const server = await serve(ai, { port: Number(port), worker: { concurrency: 32, pollMs: 200 }, inboxDir: false });
console.log(`listening ${server.port}`);

process.once('SIGTERM', async () => {
  await server.close();
  await store.close();
  console.log('stopped');
});
