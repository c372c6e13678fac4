// The crash kit: runs a scenario, stops it before and after every write and every effect, drives on, and compares.
import { CountersignError, messageOf, UsageError } from '../../core/errors.ts';
import { aFunction, anything, aWholeNumber, checkOptions as checkTable, type OptionTable } from '../../core/options.ts';
import { checkedSubject, type StoreUnderTest } from '../store-contract/check.ts';
import type { CrashPlan, CrashPoint } from './crash-process.ts';
import { type CrashResult, type CrashScenario, CrashTrial } from './crash-trial.ts';

export type { CrashEffect, CrashPoint } from './crash-process.ts';
export type { CrashDecision, CrashProcess, CrashResult, CrashScenario } from './crash-trial.ts';

/** What is run, on which store, and how often it dies on the way. */
export type CrashOptions = {
  readonly scenario: CrashScenario;
  /** Makes a fresh store; every run of the scenario gets an id of its own in it. */
  readonly makeStore: () => Promise<StoreUnderTest>;
  /** 2: after each crash, the way on is stopped before and after each of its own writes and effects as well. */
  readonly crashes?: 1 | 2;
};

/** What came of all the crashes. */
export type CrashReport = {
  /** The scenario without a crash: what the others are compared with. */
  readonly undisturbed: CrashResult;
  /** One result for each place where a process can die; none where the run was lost, which is among the problems. */
  readonly results: readonly CrashResult[];
  /** What must not be, with the place of the crash in front; empty if all is well. */
  readonly problems: readonly string[];
};

/**
 * Stops a scenario before and after every single write to the store and every effect, starts it anew on the same data,
 * drives on until the run has ended, and looks at what happened outside. Without a crash, the run must not fail. For each
 * of these crashes:
 *
 * - no effect happened more often than without a crash, unless its receiver knows its key;
 * - no effect is missing, unless a person was asked about a call in doubt;
 * - every decision that was acknowledged is on record, and nothing was asked again;
 * - the run is there, and ended as without a crash, in the same words unless a person was asked about a call in doubt;
 * - its record is whole, and whoever looks for work would have found it.
 * @example
 * const { problems } = await crashEverywhere({
 *   makeStore: async () => ({ store: memoryStore(), close: async () => {} }),
 *   scenario: {
 *     open({ runId, store, clock, leaseMs, effect }) {
 *       const ai = countersign({ model: scriptedModel(script), store, clock, leaseMs });
 *       const pay = ai.defineTool({ name: 'pay', description: 'Pays.', needsApproval: true }, (_input, ctx) =>
 *         effect('pay', ctx.idempotencyKey, 'paid'),
 *       );
 *       const clerk = ai.defineAgent({ name: 'clerk', tools: [pay] });
 *       return { runs: ai.runs, begin: () => clerk.start('Pay.', { runId }) };
 *     },
 *     decide: () => 'approve',
 *   },
 * });
 */
export async function crashEverywhere(options: CrashOptions): Promise<CrashReport> {
  checkOptions(options);
  const { scenario, makeStore, crashes = 1 } = options;
  const subject = checkedSubject('makeStore', await makeStore());
  const results: CrashResult[] = [];
  const problems: string[] = [];
  let trials = 0;

  const trialOf = (plan: CrashPlan) => new CrashTrial(subject, scenario, `crash-${++trials}`, plan);

  /** What came of it, unless it did not get as far as the last place of the plan. */
  async function attempt(plan: CrashPlan, undisturbed: CrashResult): Promise<CrashResult | 'lost' | undefined> {
    const trial = trialOf(plan);
    const result = await trial.run().catch((error: unknown) => ({ lost: messageOf(error) }));
    const { crashes } = trial.outside;
    if (crashes.length < plan.length) return undefined;
    const found = 'lost' in result ? [result.lost] : compare(result, undisturbed);
    for (const problem of found) problems.push(`${placesOf(crashes)}: ${problem}`);
    return 'lost' in result ? 'lost' : result;
  }

  /** Every place from `from` on at which one more process can die after those of `before`. */
  async function extend(before: CrashPlan, from: number, undisturbed: CrashResult): Promise<void> {
    for (let index = from; ; index++) {
      for (const when of ['before', 'after'] as const) {
        const plan = [...before, { when, index }];
        const result = await attempt(plan, undisturbed);
        if (result === undefined) return;
        if (result === 'lost') continue;
        results.push(result);
        if (plan.length < crashes) await extend(plan, index + 1, undisturbed);
      }
    }
  }

  try {
    const undisturbed = await trialOf([]).run().catch(notBegun);
    const { run } = undisturbed;
    // A run that fails anyhow shows nothing.
    const failure = run.status === 'failed' ? [`the run failed: ${run.error?.message}`] : [];
    for (const problem of [...undisturbed.problems, ...failure]) problems.push(`without a crash: ${problem}`);
    await extend([], 0, undisturbed);
    return { undisturbed, results, problems };
  } finally {
    await subject.close();
  }
}

const CRASH_OPTIONS: OptionTable<CrashOptions> = {
  scenario: anything,
  makeStore: { ...aFunction, required: true },
  crashes: aWholeNumber,
};

/** What is wrong is said before anything is run: a kit that runs less than was meant finds nothing. */
function checkOptions(options: CrashOptions): void {
  checkTable('`crashEverywhere`', options, CRASH_OPTIONS);
  const { scenario } = options;
  if (typeof scenario?.open !== 'function' || typeof scenario.decide !== 'function')
    throw misused('A scenario has `open` and `decide`, which are functions.');
}

const misused = (message: string): UsageError => new UsageError('invalid-options', {}, message);

function notBegun(error: unknown): never {
  if (!(error instanceof CountersignError && error.code === 'unknown-run')) throw error;
  throw misused('`begin` of the scenario has started no run in the store under the `runId` that `open` was given.');
}

function compare(result: CrashResult, undisturbed: CrashResult): readonly string[] {
  const problems = [...result.problems];
  const wasInDoubt = result.decisions.some(({ card }) => card.kind === 'unknown-outcome');
  for (const [name, usual] of countEffects(undisturbed)) {
    const happened = countEffects(result).get(name) ?? 0;
    if (happened < usual && !wasInDoubt) problems.push(`${name} happened ${happened} times instead of ${usual}`);
  }
  for (const [name, happened] of countEffects(result)) {
    const usual = countEffects(undisturbed).get(name) ?? 0;
    // One that is missing does not make up for one that happened twice.
    const most = mostOfOneCall(result).get(name) ?? 0;
    const usualMost = mostOfOneCall(undisturbed).get(name) ?? 0;
    if (happened > usual) problems.push(`${name} happened ${happened} times instead of ${usual}`);
    else if (most > usualMost) problems.push(`${name} happened ${most} times for one call instead of ${usualMost}`);
  }
  const asked = countQuestions(result);
  const usuallyAsked = countQuestions(undisturbed);
  if (asked > usuallyAsked) problems.push(`${asked} questions were asked instead of ${usuallyAsked}`);
  if (result.run.status !== undisturbed.run.status)
    problems.push(`the run ended ${result.run.status} instead of ${undisturbed.run.status}`);
  if (result.run.text !== undisturbed.run.text && !wasInDoubt)
    problems.push(`it ended with ${JSON.stringify(result.run.text)}, not ${JSON.stringify(undisturbed.run.text)}`);
  return problems;
}

/** How often each happened. Where the receiver knows the key, what has the same key is one. */
function countEffects({ effects }: CrashResult): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const known = new Set<string>();
  for (const { name, key, repeatable } of effects) {
    const place = `${name} ${key}`;
    if (!repeatable || !known.has(place)) counts.set(name, (counts.get(name) ?? 0) + 1);
    known.add(place);
  }
  return counts;
}

/** How often each happened under one key, at most; where the receiver knows the key, that is its own affair. */
function mostOfOneCall({ effects }: CrashResult): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const { name, key } of effects.filter(({ repeatable }) => !repeatable)) {
    const place = `${name} ${key}`;
    const count = (counts.get(place) ?? 0) + 1;
    counts.set(place, count);
    most.set(name, Math.max(most.get(name) ?? 0, count));
  }
  return most;
}

function countQuestions({ decisions }: CrashResult): number {
  return decisions.filter(({ card }) => card.kind !== 'unknown-outcome').length;
}

const placesOf = (crashes: readonly CrashPoint[]): string =>
  crashes.map(({ when, index, what }) => `crash ${when} ${index} (${what})`).join(', ');
