// A process that works on the runs of the clerk, and writes each escalation that it tells people of.
import { countersign } from '../../src/index.ts';
import type { Worker } from '../../src/store.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { openStore, type Place } from './bank.ts';

export type EscalatingOptions = {
  readonly place: Place;
  readonly leaseMs: number;
  /** Its channel writes the number of each escalation, and never ends. */
  readonly tells: boolean;
};

/** Its request is escalated at once and after 3 s, and expires after 8 s: a busy machine needs the time between. */
export function openClerk(place: Place, leaseMs: number, onEscalation?: (number: number) => unknown) {
  const store = openStore(place);
  const ai = countersign({
    ...{ store, leaseMs, retry: false, people: { managerOf: () => 'boss' } },
    model: scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input: {} }] },
    ),
  });
  if (onEscalation) ai.onRequest('escalations', { escalated: ({ number }) => onEscalation(number) });
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
  const { store, runs } = openClerk(
    options.place,
    options.leaseMs,
    !options.tells
      ? undefined
      : (number) => {
          process.stdout.write(`${number}\n`);
          return new Promise(() => undefined);
        },
  );
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
