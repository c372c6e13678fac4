// A process that votes on command at a given moment, and reports what it was told.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore, type Place } from '../crash/bank.ts';
import { openBank } from './bank.ts';

export type VoterOptions = { readonly place: Place; readonly ledger: string; readonly count: number };
export type Volley = { readonly at: number; readonly id: string; readonly people: readonly string[] };

const { place, ledger, count }: VoterOptions = JSON.parse(process.argv[2] ?? '{}');
const { runs } = openBank({
  store: openStore(place),
  leaseMs: 30_000,
  people: { rolesOf: () => ['finance'] },
  needsApproval: { policy: { quorum: [{ of: { roles: ['finance'] }, count }] } },
  onPay: () => appendFileSync(ledger, 'paid\n'),
});
await runs.list({ limit: 1 });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { at, id, people }: Volley = JSON.parse(line);
  await delay(Math.max(0, at - Date.now()));
  const answers = await Promise.all(people.map((by) => runs.decide(id, 'approve', { by })));
  await runs.settled();
  process.stdout.write(`${JSON.stringify(answers.map(({ status }) => status))}\n`);
}
// Its parent is gone.
process.exit();
