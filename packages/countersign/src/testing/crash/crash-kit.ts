// The crash kit: stops a scenario before and after every write and every effect, resumes it, and compares the results.
import { CountersignError, messageOf, UsageError } from '../../core/errors.ts';
import { aFunction, anything, aWholeNumber, checkOptions as checkTable, type OptionTable } from '../../core/options.ts';
import { checkedSubject, type StoreUnderTest } from '../store-contract/check.ts';
import type { CrashPlan, CrashPoint } from './crash-process.ts';
import { type CrashResult, type CrashScenario, CrashTrial } from './crash-trial.ts';

export type { CrashEffect, CrashPoint } from './crash-process.ts';
export type { CrashDecision, CrashProcess, CrashResult, CrashScenario } from './crash-trial.ts';

/** The scenario to run, its store, and how often the process crashes. */
export type CrashOptions = {
  readonly scenario: CrashScenario;
  /** Makes a fresh store. Each trial creates a new run in it. */
  readonly makeStore: () => Promise<StoreUnderTest>;
  /** With 2, the process that resumes after a crash also crashes, at each of its writes and effects. */
  readonly crashes?: 1 | 2;
};

/** The results of all trials. */
export type CrashReport = {
  /** The scenario without a crash, which the others are compared with. */
  readonly undisturbed: CrashResult;
  /** One result for each crash point, except those that lost the run: these are among the problems. */
  readonly results: readonly CrashResult[];
  /** Broken promises, each after its crash point; empty if all is well. */
  readonly problems: readonly string[];
};

/**
 * Stops a scenario before and after every write to the store and every effect, restarts it on the same data, and drives
 * it until the run has ended. Without a crash, the run must not fail. For each crash:
 *
 * - no effect happened more often than without a crash, unless its receiver ignores repeated keys;
 * - no effect is missing, unless a person was asked about a call in doubt;
 * - every acknowledged decision is stored, and nothing was asked again;
 * - the run exists and ended as without a crash, with the same text unless a person was asked about a call in doubt;
 * - the record of the run verifies, and a worker that looks for due runs finds it.
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

  /** Runs one trial. Undefined if the run ended before the last crash of the plan. */
  async function attempt(plan: CrashPlan, undisturbed: CrashResult): Promise<CrashResult | 'lost' | undefined> {
    const trial = trialOf(plan);
    const result = await trial.run().catch((error: unknown) => ({ lost: messageOf(error) }));
    const { crashes } = trial.outside;
    if (crashes.length < plan.length) return undefined;
    const found = 'lost' in result ? [result.lost] : compare(result, undisturbed);
    for (const problem of found) problems.push(`${placesOf(crashes)}: ${problem}`);
    return 'lost' in result ? 'lost' : result;
  }

  /** Tries every later point for one more crash after those of `before`. */
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
    // A scenario that fails without a crash proves nothing.
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

/** Rejects a misspelled scenario: it would test less than intended. */
function checkOptions(options: CrashOptions): void {
  checkTable('`crashEverywhere`', options, CRASH_OPTIONS);
  const { scenario } = options;
  if (typeof scenario?.open !== 'function' || typeof scenario.decide !== 'function')
    throw misused('A scenario needs the functions `open` and `decide`.');
}

const misused = (message: string): UsageError => new UsageError('invalid-options', {}, message);

function notBegun(error: unknown): never {
  if (!(error instanceof CountersignError && error.code === 'unknown-run')) throw error;
  throw misused('`begin` did not start a run with the `runId` that `open` received.');
}

function compare(result: CrashResult, undisturbed: CrashResult): readonly string[] {
  const problems = [...result.problems];
  const wasInDoubt = result.decisions.some(({ card }) => card.kind === 'doubt');
  for (const [name, usual] of countEffects(undisturbed)) {
    const happened = countEffects(result).get(name) ?? 0;
    if (happened < usual && !wasInDoubt) problems.push(`${name} happened ${happened} times instead of ${usual}`);
  }
  for (const [name, happened] of countEffects(result)) {
    const usual = countEffects(undisturbed).get(name) ?? 0;
    // A missing effect does not make up for one that happened twice.
    const most = mostOfOneCall(result).get(name) ?? 0;
    const usualMost = mostOfOneCall(undisturbed).get(name) ?? 0;
    if (happened > usual) problems.push(`${name} happened ${happened} times instead of ${usual}`);
    else if (most > usualMost) problems.push(`${name} happened ${most} times for one call instead of ${usualMost}`);
  }
  const asked = countRequests(result);
  const usuallyAsked = countRequests(undisturbed);
  if (asked > usuallyAsked) problems.push(`${asked} questions were asked instead of ${usuallyAsked}`);
  if (result.run.status !== undisturbed.run.status)
    problems.push(`the run ended ${result.run.status} instead of ${undisturbed.run.status}`);
  if (result.run.text !== undisturbed.run.text && !wasInDoubt)
    problems.push(`it ended with ${JSON.stringify(result.run.text)}, not ${JSON.stringify(undisturbed.run.text)}`);
  return problems;
}

/** Counts effects by name. Repeatable effects with the same key count once. */
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

/** The most effects of each name under one key, without repeatable ones. */
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

function countRequests({ decisions }: CrashResult): number {
  return decisions.filter(({ card }) => card.kind !== 'doubt').length;
}

const placesOf = (crashes: readonly CrashPoint[]): string =>
  crashes.map(({ when, index, what }) => `crash ${when} ${index} (${what})`).join(', ');
