// A process of the bank: a worker, or a person who recalls each call at a given moment and reports the answers.
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../../src/index.ts';
import { Ledger, type Line, openBank, openStore, type Place } from '../crash/bank.ts';

export type RacingOptions = {
  readonly place: Place;
  readonly ledger: string;
  readonly leaseMs: number;
  readonly holdMs: number;
  readonly isWorker: boolean;
};

export type Recalls = readonly { readonly id: string; readonly at: number }[];
/** Without a code, the call is recalled. */
export type RecallAnswer = { readonly id: string; readonly code?: string };

const { place, ledger, isWorker, ...options }: RacingOptions = JSON.parse(process.argv[2] ?? '{}');
const { runs } = openBank({ store: openStore(place), ledger: new Ledger<Line>(ledger), ...options });
await runs.list({ limit: 1 });
if (isWorker) runs.work({ pollMs: 5, concurrency: 32 });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const answers = await Promise.all((JSON.parse(line) as Recalls).map(recall));
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
// Its parent is gone.
process.exit();

async function recall({ id, at }: Recalls[number]): Promise<RecallAnswer> {
  await delay(Math.max(0, at - Date.now()));
  try {
    await runs.recall(id, { by: 'ann' });
    return { id };
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { id, code: error.code };
  }
}
