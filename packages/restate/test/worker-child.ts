// A process that starts, decides and drives runs until it is killed. It ends with its parent.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from 'countersign';
import { KINDS, openBank, openStore, type Place, writeLine } from './bank.ts';

const { place, pauseMs }: { readonly place: Place; readonly pauseMs: number } = JSON.parse(process.argv[2] ?? '{}');
const store = openStore(place);
const bank = openBank(store, place, () => Math.random() * 20);
const person = `person-${process.pid}`;
process.stdin.on('end', () => process.exit()).resume();
bank.runs.work({ concurrency: 8, pollMs: 100 });
process.stdout.write('ready\n');
await Promise.all([startRuns(), decideRuns()]);

async function startRuns(): Promise<never> {
  for (;;) {
    const kind = KINDS[Math.floor(Math.random() * KINDS.length)];
    const run = `${kind}-${randomBytes(6).toString('hex')}`;
    await unlessAway(async () => {
      await bank.start(run);
      writeLine(place.acks, { start: run });
    });
    await delay(Math.random() * 2 * pauseMs);
  }
}

async function decideRuns(): Promise<never> {
  for (;;) {
    await unlessAway(async () => {
      const { items } = await bank.runs.requests({ kind: 'approval', limit: 10, order: 'newest' });
      for (const { id } of items) {
        const decided = await bank.runs.decide(id, 'approve', { by: person });
        if (decided.status === 'settled' && decided.by === person) writeLine(place.acks, { decided: id, by: person });
      }
    });
    await delay(Math.random() * pauseMs);
  }
}

/** The store may be away, and another process may have been faster. Anything else is a fault, and ends the process. */
async function unlessAway(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (!['store-failed', 'already-decided', 'stale-version', 'claim-lost'].includes(error.code)) throw error;
  }
}
