// A payment that three processes bring to its end: one starts it, one decides it, one drives it on. Each of them ends
// before the next begins; they share only a SQLite file.
//   node examples/approved-elsewhere.ts                                  all three, one after the other
//   node examples/approved-elsewhere.ts start <folder>                   starts a run
//   node examples/approved-elsewhere.ts decide <folder> approve|reject   decides the pending call, and runs nothing
//   node examples/approved-elsewhere.ts work <folder>                    drives on whatever there is to do
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, countersign, type Runs, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { standInModel } from 'countersign/testing';

/**
 * Every process makes the same agent, on the same file; its model knows only the messages. Payments are lines of another file:
 * who really paid, and when.
 */
async function withBank(folder: string, use: (clerk: Agent, runs: Runs) => Promise<string>): Promise<string> {
  const store = sqliteStore(join(folder, 'runs.db'));
  const ai = countersign({ model: standInModel(), store });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays a bill.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      title: ({ to, amount }) => `Pay $${amount} to ${to}`,
      needsApproval: true,
      labels: ['money'],
    },
    ({ to, amount }) => {
      appendFileSync(join(folder, 'payments.txt'), `$${amount} to ${to}, by process ${process.pid}\n`);
      return { status: 'PAID' };
    },
  );
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
  try {
    return await use(clerk, ai.runs);
  } finally {
    await ai.runs.stop();
    await store.close();
  }
}

export const start = (folder: string): Promise<string> =>
  withBank(folder, async (clerk, runs) => {
    const { id } = await clerk.start('Pay the butcher $184.', { by: 'ann' });
    const { pending } = await runs.wait(id);
    return `Process ${process.pid} started a run; ${pending.length} call waits for a person.`;
  });

export const decide = (folder: string, verdict: 'approve' | 'reject'): Promise<string> =>
  withBank(folder, async (_clerk, runs) => {
    const { items } = await runs.requests({ label: 'money' });
    for (const { id, digest } of items)
      await runs.decide(id, verdict, { by: 'bob', channel: 'terminal', digest, drive: false });
    return `Process ${process.pid} decided: ${verdict}, ${items.length} time(s). It paid nothing itself.`;
  });

export const work = (folder: string): Promise<string> =>
  withBank(folder, async (_clerk, runs) => {
    const todo = await runs.list({ status: 'running' });
    const worker = runs.work();
    const ended = await Promise.all(todo.items.map(({ id }) => runs.wait(id, { timeoutMs: 30_000 })));
    await worker.stop();
    return `Process ${process.pid} drove on ${ended.length} run(s). ${ended.map(({ text }) => text).join(' ')}`;
  });

/** Runs this file as a separate process, to its end. */
function inAnotherProcess(...given: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [import.meta.filename, ...given], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${given[0]} failed.`);
}

if (import.meta.main) {
  const [command, folder = mkdtempSync(join(tmpdir(), 'approved-elsewhere-')), verdict] = process.argv.slice(2);
  if (command === 'start') console.log(await start(folder));
  else if (command === 'decide') console.log(await decide(folder, verdict === 'reject' ? 'reject' : 'approve'));
  else if (command === 'work') console.log(await work(folder));
  else {
    inAnotherProcess('start', folder);
    inAnotherProcess('decide', folder, 'approve');
    inAnotherProcess('work', folder);
    console.log(`Paid: ${readFileSync(join(folder, 'payments.txt'), 'utf8').trim()}`);
    rmSync(folder, { recursive: true });
  }
}
