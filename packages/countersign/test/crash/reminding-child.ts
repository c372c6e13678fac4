// A process that sends reminders. It writes each one to a file before anything else.
import { setTimeout as delay } from 'node:timers/promises';
import { countersign } from '../../src/index.ts';
import { Ledger, openStore, type Place } from './bank.ts';

export type RemindingOptions = {
  readonly place: Place;
  readonly ledger: string;
  readonly leaseMs: number;
  /** `at once`: the hook ends once the line is written. `both`: once another process has written one, too. */
  readonly done: 'at once' | 'both' | 'never';
};

export type ReminderLine = { readonly id: string; readonly attempt: number; readonly pid: number };

const options: RemindingOptions = JSON.parse(process.argv[2] ?? '{}');
const ledger = new Ledger<ReminderLine>(options.ledger);
const store = openStore(options.place);
const { runs } = countersign({
  store,
  leaseMs: options.leaseMs,
  async onReminder({ id }, { attempt }) {
    ledger.write({ id, attempt, pid: process.pid });
    process.stdout.write(`${id}\n`);
    if (options.done === 'never') await new Promise(() => undefined);
    while (options.done === 'both' && new Set(ledger.read().map(({ pid }) => pid)).size < 2) await delay(5);
  },
});
await runs.list({ limit: 1 });
const worker = runs.work({ pollMs: 20 });
// It exits with its parent.
process.stdin.on('end', () => process.exit()).resume();
process.on('SIGTERM', async () => {
  await worker.stop();
  await store.close();
  process.exit();
});
process.stdout.write('ready\n');
