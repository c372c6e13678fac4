// A process that runs one system: `node worker.mjs <system> <options>`. Orders come over IPC. It may be killed or stopped at any time.
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , system, given] = process.argv;
const { gated = false, payMs = 0, bank, ...options } = JSON.parse(given);

/** The bank: what is in its file has happened. One write with O_APPEND, so that no kill hides or halves it. */
async function pay({ to, amount }) {
  await sleep(payMs / 2);
  appendFileSync(bank, `${to} ${amount}\n`);
  await sleep(payMs / 2);
  return `paid ${amount} to ${to}`;
}

const { open } = await import(`../systems/${system}/adapter.mjs`);
const adapter = { ...(await open({ ...options, gated, pay })), cpu: () => process.cpuUsage() };

process.on('message', async ({ order, method, args }) => {
  try {
    if (!adapter[method]) return process.send({ order, missing: true });
    process.send({ order, said: (await adapter[method](...args)) ?? null });
  } catch (error) {
    process.send({ order, failed: String(error?.message ?? error).slice(0, 300) });
  }
});
process.on('unhandledRejection', (error) => console.error('unhandled', error));
process.on('disconnect', () => process.exit());
process.send({ ready: true });
