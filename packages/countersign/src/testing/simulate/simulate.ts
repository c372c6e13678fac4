// Simulates an agent: its real tools, loop and store, in virtual time, with faults and people chosen by a seed.
import { UsageError } from '../../core/errors.ts';
import { aFunction, aString, aWholeNumber, checkOptions, type OptionTable } from '../../core/options.ts';
import type { Agent } from '../../loop/agent.ts';
import type { SimulatedProcess, SimulateOptions, SimulationReport } from './options.ts';
import { runSchedules } from './schedules.ts';

const OPTIONS: OptionTable<SimulateOptions> = {
  schedules: aWholeNumber,
  seed: aWholeNumber,
  prompt: aString,
  decide: aFunction,
};

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
  return runSchedules(open, options);
}

const misused = (message: string): UsageError => new UsageError('invalid-options', {}, message);
