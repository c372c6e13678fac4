// A process that undoes a payment, and dies by SIGKILL just before or just after the effect of the undo.
import { appendFileSync } from 'node:fs';
import { countersign, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';

export type UndoingOptions = { readonly store: string; readonly ledger: string; readonly dieAt?: 'before' | 'after' };

/** Short, so that another process takes over soon. */
const LEASE_MS = 500;

export function openBank({ store, ledger, dieAt }: UndoingOptions) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
  );
  const ai = countersign({ model, store: sqliteStore(store), leaseMs: LEASE_MS, retry: false });
  const die = (at: string) => {
    if (at === dieAt) process.kill(process.pid, 'SIGKILL');
  };
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: '',
      inputSchema: z.object({}),
      needsApproval: true,
      undo: (receipt: string) => {
        die('before');
        appendFileSync(ledger, `undid ${receipt}\n`);
        die('after');
      },
    },
    () => 'r1',
  );
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

if (import.meta.main) {
  const { runs, clerk } = openBank(JSON.parse(process.argv[2] ?? '{}'));
  await clerk.start('Pay.', { runId: 'run', by: 'ann' });
  await runs.wait('run');
  const approve = async () => {
    for (const card of (await runs.requests()).items) await runs.decide(card, 'approve', { by: 'ben' });
    await runs.settled();
  };
  await approve();
  await runs.undo('run', { by: 'ann' });
  await approve();
}
