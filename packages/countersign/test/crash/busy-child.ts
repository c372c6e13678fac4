// A process that works until it is killed: it starts, decides and drives its own and other runs.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomOf } from '../random.ts';
import {
  aWhile,
  type BankPlace,
  decisionOn,
  KINDS,
  Ledger,
  type Line,
  openBank,
  openStore,
  type Place,
} from './bank.ts';

/** An acknowledgement that must hold. */
export type Ack =
  | { readonly ack: 'start'; readonly run: string }
  | { readonly ack: 'vote'; readonly id: string; readonly by: string }
  | { readonly ack: 'decision'; readonly id: string; readonly by: string | null; readonly decision: unknown };

export type BusyOptions = {
  readonly place: Place;
  readonly ledger: string;
  readonly acks: string;
  readonly seed: number;
  readonly leaseMs: number;
  /** The number of runs it starts. */
  readonly runs: number;
  /** It kills itself when it reaches this place for the n-th time. */
  readonly dieAt?: { readonly place: DeathPlace; readonly times: number };
};

export type DeathPlace = BankPlace | 'started' | 'decided';

const options: BusyOptions = JSON.parse(process.argv[2] ?? '{}');
const random = randomOf(options.seed);
const acks = new Ledger<Ack>(options.acks);
let timesLeft = options.dieAt?.times ?? 0;

function mayDie(place: DeathPlace): void {
  if (place === options.dieAt?.place && --timesLeft === 0) process.kill(process.pid, 'SIGKILL');
}

const bank = openBank({
  store: openStore(options.place),
  ledger: new Ledger<Line>(options.ledger),
  leaseMs: options.leaseMs,
  at: async (place) => {
    mayDie(place);
    await aWhile(random, 15);
  },
});
await bank.runs.list({ limit: 1 });
const worker = bank.runs.work({ concurrency: 16, pollMs: 20 });
let isStopping = false;
// It exits with its parent.
process.stdin.on('end', () => process.exit()).resume();
process.on('SIGTERM', () => {
  isStopping = true;
});
process.stdout.write('ready\n');
await Promise.all([startRuns(), decideRuns()]);
// A clean stop: running work pauses or ends, and the runs are released.
await worker.stop();
process.exit();

async function startRuns(): Promise<void> {
  for (let count = 0; count < options.runs && !isStopping; count++) {
    const kind = KINDS[Math.floor(random() * KINDS.length)];
    const run = `${kind}-${options.seed}-${count}-${randomBytes(3).toString('hex')}`;
    await bank.start(run);
    mayDie('started');
    acks.write({ ack: 'start', run });
    await aWhile(random, 20);
  }
}

async function decideRuns(): Promise<void> {
  while (!isStopping) {
    for (const kind of ['approval', 'interrupt', 'question'] as const) {
      const { items } = await bank.runs.requests({ kind, limit: 20, order: random() < 0.5 ? 'newest' : 'oldest' });
      await Promise.all(
        items.map(async (card) => {
          // Two people work here, and only one of them may have voted before.
          const by = `person-${process.pid}-${random() < 0.5 ? 'a' : 'b'}`;
          const decided = await bank.runs.decide(card.id, decisionOn(card), { by, roles: ['teller'] });
          mayDie('decided');
          if (decided.status === 'settled')
            acks.write({ ack: 'decision', id: card.id, by: decided.by, decision: decided.decision });
          else acks.write({ ack: 'vote', id: card.id, by });
        }),
      );
    }
    await delay(random() * 10);
  }
}
