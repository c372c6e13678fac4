// A campaign of kills: processes work on one store and are killed at random moments. Then all runs are completed and
// checked against the ledger.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { randomOf } from '../random.ts';
import { allowSpending, decisionOn, Ledger, type Line, openBank, openStore, type Place, truthOn } from './bank.ts';
import type { Ack, BusyOptions, DeathPlace } from './busy-child.ts';
import { type Figures, inspect } from './campaign-check.ts';
import { startChild } from './children.ts';

export type CampaignOptions = {
  readonly place: Place;
  /** The folder for the files of the campaign. */
  readonly folder: string;
  readonly kills: number;
  readonly seed: number;
  /** How many processes work at the same time; 4 by default. */
  readonly atOnce?: number;
  /** No new process starts after this time; unlimited by default. */
  readonly mostMs?: number;
};

/** On a machine that freezes for longer, two processes would work on one run, which is another test. */
const LEASE_MS = 3_000;
const DEATH_PLACES: readonly DeathPlace[] = ['started', 'decided', 'model', 'uncommitted', 'body', 'step', 'effect'];

export async function campaign(options: CampaignOptions): Promise<Figures> {
  const { place, folder, atOnce = 4, seed } = options;
  const startedAt = performance.now();
  const ledger = new Ledger<Line>(join(folder, 'happened'));
  const acks = new Ledger<Ack>(join(folder, 'acknowledged'));
  const problems: string[] = [];
  await warmUp(options);
  const grantId = await allowed(place, ledger);
  let left = options.kills;
  let kills = 0;
  const random = randomOf(seed);
  const isOver = () => left <= 0 || performance.now() - startedAt > (options.mostMs ?? Number.POSITIVE_INFINITY);
  const lane = async () => {
    while (!isOver()) {
      left -= 1;
      const problem = await killOne(options, seed * 100_000 + left, random);
      if (problem === undefined) kills += 1;
      else problems.push(problem);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const killedAt = performance.now();
  const store = openStore(place);
  try {
    const { doubts, happened } = await recover(store, ledger);
    const bank = openBank({ store, ledger, leaseMs: LEASE_MS });
    const found = await inspect(store, bank.runs, ledger.read(), acks.read(), await bank.ai.grants.get(grantId));
    const seconds = (from: number, to: number) => Math.round((to - from) / 100) / 10;
    return {
      ...found,
      problems: [...problems, ...found.problems],
      kills,
      doubts,
      happened,
      killingSeconds: seconds(startedAt, killedAt),
      recoverySeconds: seconds(killedAt, performance.now()),
    };
  } finally {
    await store.close();
  }
}

/** Creates the tables, and fills the compile cache. */
async function warmUp(options: CampaignOptions): Promise<void> {
  const child = startChild('busy-child.ts', busyOptions(options, 0, 0));
  if ((await child.line()) === undefined) throw new Error((await child.ended).errors);
  child.kill('SIGTERM');
  await child.ended;
}

/** A person allows some calls in advance. */
async function allowed(place: Place, ledger: Ledger<Line>): Promise<string> {
  const store = openStore(place);
  const bank = openBank({ store, ledger, leaseMs: LEASE_MS });
  try {
    return await allowSpending(bank);
  } finally {
    await bank.runs.stop();
    await store.close();
  }
}

function busyOptions({ place, folder }: CampaignOptions, seed: number, runs: number): BusyOptions {
  const files = { ledger: join(folder, 'happened'), acks: join(folder, 'acknowledged') };
  return { place, ...files, seed, leaseMs: LEASE_MS, runs };
}

/** Half of them die at a chosen place, the others at any moment. Returns a problem if one ended in another way. */
async function killOne(options: CampaignOptions, seed: number, random: () => number): Promise<string | undefined> {
  const chosen = random() < 0.5 ? DEATH_PLACES[Math.floor(random() * DEATH_PLACES.length)] : undefined;
  const dieAt = chosen && { dieAt: { place: chosen, times: 1 + Math.floor(random() * 6) } };
  const busy = { ...busyOptions(options, seed, 12), ...dieAt };
  const afterMs = random() * 350;
  const child = startChild('busy-child.ts', busy);
  const isReady = (await child.line()) !== undefined;
  const patience = new AbortController();
  const tooLong = delay(dieAt ? 1_000 : afterMs, undefined, { signal: patience.signal }).catch(() => undefined);
  if (isReady) await Promise.race([child.ended, tooLong]);
  patience.abort();
  child.kill('SIGKILL');
  const { signal, code, errors } = await child.ended;
  return signal === 'SIGKILL' ? undefined : `a process ended by itself with ${code}: ${errors}`;
}

/** A new process completes all runs, with a person who decides by the ledger. */
async function recover(store: ReturnType<typeof openStore>, ledger: Ledger<Line>) {
  const { runs } = openBank({ store, ledger, leaseMs: LEASE_MS });
  const worker = runs.work({ concurrency: 32, pollMs: 20 });
  let doubts = 0;
  let happened = 0;
  const isOpen = async () =>
    (await runs.list({ status: 'running', limit: 1 })).items.length > 0 ||
    (await runs.list({ status: 'waiting', limit: 1 })).items.length > 0;
  try {
    const until = performance.now() + 120_000;
    while ((await isOpen()) && performance.now() < until) {
      // The worker starts those that wait for their time.
      const items = (await runs.requests({ limit: 100 })).items.filter(({ kind }) => kind !== 'recall');
      const lines = ledger.read();
      await Promise.all(
        items.map(async (card) => {
          const isDoubt = card.kind === 'doubt';
          const decision = isDoubt ? truthOn(card, lines) : decisionOn(card);
          if (isDoubt) doubts += 1;
          if (isDoubt && decision !== 'approve') happened += 1;
          const { digest } = card;
          const first = await runs.decide(card.id, decision, { by: 'auditor', digest, roles: ['teller'] });
          if (first.status === 'waiting')
            await runs.decide(card.id, decision, { by: 'second', digest, roles: ['teller'] });
        }),
      );
      if (items.length === 0) await delay(20);
    }
  } finally {
    await worker.stop();
  }
  return { doubts, happened };
}
