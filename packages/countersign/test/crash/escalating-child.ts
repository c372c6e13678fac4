// A process that works on the runs of the clerk, and writes each escalation that it tells people of to a file.
import { countersign } from '../../src/index.ts';
import type { Worker } from '../../src/store.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { Ledger, openStore, type Place } from './bank.ts';

export type EscalatingOptions = {
  readonly place: Place;
  readonly ledger: string;
  readonly leaseMs: number;
  /** The hook writes its line and never ends. */
  readonly hangs: boolean;
};

export type EscalationLine = { readonly number: number; readonly attempt: number; readonly pid: number };

/** Its request is escalated at once and after 3 s, and expires after 8 s: a busy machine needs the time between. */
export function openClerk(place: Place, leaseMs: number, onEscalation?: (line: EscalationLine) => Promise<void>) {
  const store = openStore(place);
  const ai = countersign({
    ...{ store, leaseMs, retry: false, people: { managerOf: () => 'boss' } },
    model: scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
    ),
    ...(onEscalation && {
      onEscalation: (_, { number, attempt }) => onEscalation({ number, attempt, pid: process.pid }),
    }),
  });
  const pay = ai.defineTool(
    {
      ...{ name: 'pay', description: '', needsApproval: true, expireAfter: 8_000 },
      escalate: [
        { after: 1, to: 'manager' },
        { after: 3_000, to: { roles: ['board'] } },
      ],
    },
    () => 'paid',
  );
  return { store, runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
}

if (process.argv[1]?.endsWith('escalating-child.ts')) {
  const options: EscalatingOptions = JSON.parse(process.argv[2] ?? '{}');
  const ledger = new Ledger<EscalationLine>(options.ledger);
  const { store, runs } = openClerk(options.place, options.leaseMs, async (line) => {
    ledger.write(line);
    process.stdout.write(`${line.number}\n`);
    if (options.hangs) await new Promise(() => undefined);
  });
  await runs.list({ limit: 1 });
  // It works from its first input on, and exits with its parent.
  const working = Promise.withResolvers<Worker>();
  process.stdin.once('data', () => working.resolve(runs.work({ pollMs: 20 })));
  process.stdin.on('end', () => process.exit()).resume();
  process.on('SIGTERM', async () => {
    await (await working.promise).stop();
    await store.close();
    process.exit();
  });
  process.stdout.write('ready\n');
}
