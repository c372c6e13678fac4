// A process that decides on command at a given moment, and reports the answers.
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError, type DecisionInput } from '../../src/index.ts';
import { Ledger, type Line, openBank, openStore, type Place } from './bank.ts';

export type DeciderOptions = { readonly place: Place; readonly ledger: string };

export type Volley = {
  /** When all processes decide, in milliseconds. */
  readonly at: number;
  readonly decisions: readonly { readonly id: string; readonly decision: DecisionInput; readonly by: string }[];
};

export type Answer = { readonly id: string; readonly by: string; readonly decision: DecisionInput } & (
  | { readonly decided: { readonly by: string | null; readonly decision: unknown; readonly at: number } }
  | { readonly refused: { readonly name: string; readonly code: string; readonly message: string } }
);

const options: DeciderOptions = JSON.parse(process.argv[2] ?? '{}');
const { runs } = openBank({
  store: openStore(options.place),
  ledger: new Ledger<Line>(options.ledger),
  leaseMs: 30_000,
});
await runs.list({ limit: 1 });
// A worker applies deadlines.
runs.work({ pollMs: 10 });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { at, decisions }: Volley = JSON.parse(line);
  await delay(Math.max(0, at - Date.now()));
  const answers = await Promise.all(decisions.map(decide));
  await runs.settled();
  process.stdout.write(`${JSON.stringify(answers)}\n`);
}
// Its parent is gone.
process.exit();

async function decide(given: Volley['decisions'][number]): Promise<Answer> {
  const { id, decision, by } = given;
  try {
    const decided = await runs.decide(id, decision, { by });
    if (decided.status === 'waiting') throw new Error(`${id} has no policy, so one decision settles it.`);
    return { ...given, decided: { by: decided.by, decision: decided.decision, at: decided.at } };
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { ...given, refused: { name: error.name, code: error.code, message: error.message } };
  }
}
