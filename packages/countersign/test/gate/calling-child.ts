// A process that asks the gate and runs what is approved, until it is killed. Half of its calls run outside of the gate (permitting).
import { setTimeout as delay } from 'node:timers/promises';
import { countersign } from '../../src/index.ts';
import { changedStore } from '../changed-store.ts';
import { Ledger, openStore, type Place } from '../crash/bank.ts';
import { randomFrom } from '../random.ts';

export type CallingOptions = {
  readonly place: Place;
  readonly ledger: string;
  readonly keys: number;
  readonly seed: number;
  /** It kills itself before or after its so many-th write or effect. */
  readonly dieAt?: number;
};

/** One line per effect. */
export type Effect = { readonly key: string; readonly input: unknown; readonly pid: number };

/** Short, so that other processes take over soon. */
export const LEASE_MS = 1_000;

export const inputOf = (key: string) => ({ key, amount: key.length });

if (import.meta.main) {
  const options: CallingOptions = JSON.parse(process.argv[2] ?? '{}');
  const random = randomFrom(options.seed);
  let steps = 0;
  const act = () => {
    steps += 1;
    if (steps === options.dieAt) process.kill(process.pid, 'SIGKILL');
  };
  const opened = openStore(options.place);
  const store = changedStore(opened, {
    async append(append) {
      act();
      const result = await opened.append(append);
      act();
      return result;
    },
  });
  const ai = countersign({ store, leaseMs: LEASE_MS });
  const ledger = new Ledger<Effect>(options.ledger);
  const pay = (key: string, input: unknown) => {
    act();
    ledger.write({ key, input, pid: process.pid });
    act();
    return { paid: key };
  };
  const gate = ai.gate({ name: 'pay', title: 'Pay' });
  console.log('ready');
  for (;;) {
    const key = `k${random.below(options.keys)}`;
    if (key.endsWith('5') || key.endsWith('6')) {
      const asked = await gate.request(inputOf(key), { key });
      const start = asked.status === 'approved' ? await gate.start({ key }, { lease: LEASE_MS }) : asked;
      if (start.status === 'granted') await gate.finish({ key }, start.token, { output: pay(key, start.input) });
    } else await gate.request(inputOf(key), { key, run: (input) => pay(key, input) });
    await delay(random.below(5));
  }
}
