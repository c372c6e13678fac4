// Stored runs as this release writes them, kept as files: every later release must resume them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashEffect, CrashProcess, CrashScenario } from 'countersign/testing';
import type { Append, Store } from '../../src/runs/port/store.ts';
import type { DecisionInput } from '../../src/runs/requests/decision.ts';
import type { RunRequest, RunView } from '../../src/runs/requests/view.ts';
import type { Runs } from '../../src/runs/runs.ts';

export type Fixture = {
  /** The version of the events. */
  readonly v: number;
  readonly scenario: string;
  readonly runId: string;
  /** All appends in order, without claims. */
  readonly appends: readonly Omit<Append, 'claim'>[];
  /** The effects that had happened. */
  readonly effects: readonly CrashEffect[];
  /** The final text if a person decides as the scenario says. */
  readonly text: string;
};

const FOLDER = join(import.meta.dirname, 'fixtures');

export const fixturePath = (name: string): string => join(FOLDER, `${name.replaceAll(/[^a-z]+/g, '-')}.v1.json`);

export function readFixtures(): readonly (readonly [string, Fixture])[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [name, JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))]);
}

export async function writeInto(store: Store, { appends }: Fixture): Promise<void> {
  for (const append of appends) await store.append(append);
}

/** Opens a process of the scenario, after every claim has lapsed. */
export function processOn(store: Store, runId: string, clock: () => number, effects: CrashEffect[]): CrashProcess {
  return {
    runId,
    store,
    clock,
    leaseMs: 10_000,
    effects,
    effect: async (name, key, output, { repeatable = false } = {}) => {
      effects.push({ runId, name, key, output, repeatable });
      return output;
    },
  };
}

/** Decides every pending question until the run has ended. */
export async function finish(
  runs: Runs,
  runId: string,
  says: (card: RunRequest) => DecisionInput | undefined,
  letExpire: (card: RunRequest) => void,
  { voters = [{ by: 'bob' }] }: Pick<CrashScenario, 'voters'> = {},
): Promise<RunView> {
  for (let round = 0; round < 20; round++) {
    await runs.drive(runId);
    await runs.settled();
    const view = await runs.get(runId);
    if (view.status !== 'running' && view.status !== 'waiting') return view;
    for (const card of (await runs.requests({ runId })).items) {
      const decision = says(card);
      if (decision === undefined) letExpire(card);
      else for (const voter of voters) if (await isPending(runs, card)) await runs.decide(card, decision, voter);
      await runs.settled();
    }
  }
  return runs.get(runId);
}

/** An edit asks everyone again, on a card of its own. */
const isPending = async (runs: Runs, { id }: RunRequest): Promise<boolean> =>
  (await runs.request(id)).settledAt === null;

/** Decides as the scenario says, and a doubt by the recorded effects. */
export function personOf(scenario: CrashScenario, effects: readonly CrashEffect[]) {
  return (card: RunRequest): DecisionInput | undefined => {
    if (card.kind !== 'doubt') return scenario.decide(card, effects);
    if (scenario.settleDoubt) return scenario.settleDoubt(card, effects);
    const happened = effects.find(({ key }) => key === card.part.metadata?.callId);
    return happened ? { type: 'respond', output: happened.output } : 'approve';
  };
}
