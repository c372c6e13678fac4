// Simulates an agent: its real tools, loop and store, in virtual time, with faults and people chosen by a seed.
import { messageOf, UsageError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { aFunction, aString, aWholeNumber, checkOptions, type OptionTable } from '../../core/options.ts';
import type { Agent } from '../../loop/agent.ts';
import { forgetDrawnIds } from '../../random-id.ts';
import { runsOf } from '../../runs/agent-runs.ts';
import type { Store } from '../../runs/port/store.ts';
import { memoryStore } from '../../stores/memory/memory.ts';
import { Customers, type Decide, type SimulatedApp } from './customers.ts';
import { replaceGlobals } from './globals.ts';
import { everyRunEnds, type Law, noneAfterRejection, nothingLeft, oneEffect, recordVerifies } from './laws.ts';
import { Life } from './life.ts';
import { type RecordedRun, readRecords } from './records.ts';
import type { SimulatedEffect } from './world.ts';

/** One simulated process: the only way of its tools to the store and the outside. */
export type SimulatedProcess = {
  /** The store as this process reaches it: over a network that is slow, fails, and loses answers. */
  readonly store: Store;
  /**
   * Does something outside that cannot be undone. A tool calls it where it would move the money. `key` is the call's
   * `idempotencyKey`; `repeatable` says that the receiver ignores repeated keys.
   */
  effect<T extends Json>(name: string, key: string, output: T, options?: { readonly repeatable?: boolean }): Promise<T>;
  /** All effects so far, for a tool's `verify`. */
  readonly effects: readonly SimulatedEffect[];
};

/** Options of `simulate`. */
export type SimulateOptions = {
  /** How many schedules to run; 100 by default. */
  readonly schedules?: number;
  /** The seed of the first schedule; 1 by default. A failing schedule names its own. */
  readonly seed?: number;
  /** What a run begins with; `Go.` by default. */
  readonly prompt?: string;
  /** Decides a request; undefined leaves it for later. By default people approve most and reject some. */
  readonly decide?: Decide;
};

/** A schedule that broke a law. `trace`: its last events. */
export type SimulatedFailure = {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly trace: readonly string[];
};

export type SimulationReport = {
  readonly schedules: number;
  readonly runs: number;
  readonly effects: number;
  /** How often a process died. */
  readonly crashes: number;
  /** The calls whose outcome a person was asked about. */
  readonly doubts: number;
  /** The schedules that broke a law; empty if all is well. */
  readonly failures: readonly SimulatedFailure[];
};

const OPTIONS: OptionTable<SimulateOptions> = {
  schedules: aWholeNumber,
  seed: aWholeNumber,
  prompt: aString,
  decide: aFunction,
};

/** The lease of the engine, unless an instance has another. */
const LEASE_MS = 7_500;
/** How long faults happen, and how long a run may then take to end. */
const FAULTS_MS = 60_000;
const PATIENCE_MS = 3_600_000;

/**
 * Runs an agent in many schedules of virtual time. In each, several processes share one store and die, freeze, lose the network and
 * come back, while people decide at random. The same seed gives the same schedule. `open` creates the instance and its agent,
 * as each process does when it starts. Timers, clocks and random numbers in `open` and in the tools are simulated too.
 *
 * Afterwards each call has had at most one effect, no rejected call any, every acknowledged decision is recorded, every run has ended,
 * nothing is left pending, and the evidence of every run verifies.
 * @example
 * const { failures } = await simulate(({ store, effect }) => {
 *   const ai = countersign({ model: scriptedModel(script), store });
 *   const pay = ai.defineTool({ name: 'pay', description: 'Pays.', needsApproval: true }, (_input, ctx) =>
 *     effect('pay', ctx.idempotencyKey, 'paid'),
 *   );
 *   return ai.defineAgent({ name: 'clerk', tools: [pay] });
 * }, { schedules: 1_000 });
 */
export async function simulate(
  open: (process: SimulatedProcess) => Agent,
  options: SimulateOptions = {},
): Promise<SimulationReport> {
  checkOptions('`simulate`', options, OPTIONS);
  if (typeof open !== 'function') throw misused('`simulate` takes a function that returns an agent.');
  const { schedules = 100, seed = 1 } = options;
  const restore = replaceGlobals();
  const report = { schedules, runs: 0, effects: 0, crashes: 0, doubts: 0, failures: [] as SimulatedFailure[] };
  try {
    for (let at = seed; at < seed + schedules; at += 1) {
      const { life, records, problems } = await runOne(open, options, at);
      report.runs += records.length;
      report.effects += life.world.effects.length;
      report.crashes += life.deaths;
      report.doubts += records.flatMap(({ requests }) => requests.filter(({ kind }) => kind === 'doubt')).length;
      if (problems.length > 0) report.failures.push({ seed: at, problems, trace: life.timeline.trace.slice(-100) });
    }
  } finally {
    restore();
  }
  return report;
}

const misused = (message: string): UsageError => new UsageError('invalid-options', {}, message);

const LAWS: Readonly<Record<string, Law>> = {
  'a call has at most one effect': oneEffect,
  'a rejected call has no effect': noneAfterRejection,
  'every run ends': everyRunEnds,
  'nothing is left claimed or pending': nothingLeft,
  'the record verifies': recordVerifies,
};

type Ended = {
  readonly life: Life<SimulatedApp>;
  readonly records: readonly RecordedRun[];
  readonly problems: readonly string[];
};

async function runOne(
  open: (process: SimulatedProcess) => Agent,
  { prompt = 'Go.', decide }: SimulateOptions,
  seed: number,
): Promise<Ended> {
  forgetDrawnIds();
  const life = new Life<SimulatedApp>({
    ...{ seed, leaseMs: LEASE_MS, processes: 1 + (seed % 3) },
    makeStore: (now) => memoryStore({ now }),
    open: ({ world }, { link, store }) =>
      appOf(
        open({
          store,
          effects: world.effects,
          effect: (name, key, output, options) => world.send(link, name, key, output, options) as Promise<never>,
        }),
      ),
  });
  const customers = new Customers(life, prompt, decide);
  const { timeline, store } = life;
  await timeline.run(FAULTS_MS, () => customers.areDone && timeline.now > FAULTS_MS / 2);
  life.calm();
  await timeline.run(timeline.now + PATIENCE_MS, () => customers.areDone);
  // What should not come has time to come.
  await timeline.run(timeline.now + 4 * LEASE_MS, () => false);
  forgetDrawnIds();
  const records = await readRecords(store);
  const problems = [...life.problems, ...customers.lost(records)];
  for (const [law, check] of Object.entries(LAWS))
    for (const problem of await check({ store, world: life.world, records })) problems.push(`${law}: ${problem}`);
  await store.close();
  return { life, records, problems };
}

function appOf(agent: Agent): SimulatedApp {
  const { runs } = (typeof agent === 'object' && agent !== null && runsOf(agent)) || {};
  if (!runs)
    throw misused('The function given to `simulate` must return an agent of an instance with the given store.');
  runs.work({ onError: (error) => void messageOf(error) });
  return { agent, runs };
}
