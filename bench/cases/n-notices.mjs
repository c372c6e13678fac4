import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openApproving } from '../lib/approving.mjs';
import { median, quantile } from '../lib/stats.mjs';

const NOTICES = 8;

// No framework here tells people about requests. A worker looks for news when something is appended, but not within half of its
// poll interval (1 s by default) after its last look: what comes then waits for the next poll. So the pauses differ.
export default {
  id: 'N',
  title: 'A notice (SQLite on disk): from the moment when the request is recorded until its channel is called',
  adapters: ['ours'],
  rounds: 3,
  variants: [{ key: 'default worker' }, { key: 'a worker that polls every 50 ms', pollMs: 50 }],
  async open(_adapter, { pollMs = 1_000 }) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-notices-'));
    const { scriptedModel } = await import('countersign/testing');
    const delivered = [];
    const channel = {
      name: 'bench',
      deliver: async ({ type }) => {
        if (type === 'opened') delivered.shift()?.(performance.now());
      },
    };
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay', input: {} }] },
    );
    const options = { model, channels: [channel], file: path.join(folder, 'runs.db') };
    const approving = openApproving(options);
    const pay = approving.ai.defineTool({ name: 'pay', description: 'pays', needsApproval: true }, () => 'paid');
    const clerk = approving.ai.defineAgent({ name: 'clerk', tools: [pay] });
    const worker = approving.ai.runs.work({ pollMs });
    return { folder, approving, clerk, worker, delivered };
  },
  async round({ approving, clerk, delivered }, { pollMs = 1_000 }, { warm }) {
    const times = [];
    for (let number = 0; number < (warm ? 2 : NOTICES); number++) {
      const told = new Promise((resolve) => delivered.push(resolve));
      await clerk.start('Pay.');
      times.push((await told) - approving.openedAt);
      await approving.approve();
      await setTimeout(pollMs * (1 + ((number * 0.377) % 1)));
    }
    return { iters: times.length, ms: median(times), longestMs: quantile(times, 1) };
  },
  async close(c) {
    await c?.worker.stop();
    await c?.approving.close();
    if (c) fs.rmSync(c.folder, { recursive: true, force: true });
  },
  primary: 'ms',
  columns: [
    ['median ms', 'ms'],
    ['longest ms', 'longestMs'],
  ],
};
