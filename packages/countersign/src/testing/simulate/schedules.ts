// Runs the schedules of a simulated agent, one after the other, and checks what each left.
import { messageOf, UsageError } from '../../core/errors.ts';
import type { Agent } from '../../loop/agent.ts';
import { forgetDrawnIds } from '../../random-id.ts';
import { runsOf } from '../../runs/agent-runs.ts';
import { Customers, type SimulatedApp } from './customers.ts';
import { frozenStore } from './frozen.ts';
import { replaceGlobals } from './globals.ts';
import { everyRunEnds, type Law, noneAfterRejection, nothingLeft, oneEffect, recordVerifies } from './laws.ts';
import { Life } from './life.ts';
import type { SimulatedFailure, SimulatedProcess, SimulateOptions, SimulationReport } from './options.ts';
import { type RecordedRun, readRecords } from './records.ts';

/** The lease of the engine, unless an instance has another. */
const LEASE_MS = 7_500;
/** How long faults happen, and how long a run may then take to end. */
const FAULTS_MS = 60_000;
const PATIENCE_MS = 3_600_000;

export async function runSchedules(
  open: (process: SimulatedProcess) => Agent,
  options: SimulateOptions,
): Promise<SimulationReport> {
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
    makeStore: frozenStore,
    stop: ({ runs }) => runs.stop(),
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
    throw new UsageError(
      'invalid-options',
      {},
      'The function given to `simulate` must return an agent of an instance with the given store.',
    );
  runs.work({ onError: (error) => void messageOf(error) });
  return { agent, runs };
}
