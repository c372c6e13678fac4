// `countersign migrate`: brings the tables up to date, or tells beforehand which runs would not go on.
import type { Command } from '../command.ts';
import { EXIT } from '../failure.ts';
import { STORE_OPTIONS } from '../place-options.ts';
import { visibleLine } from '../print/visible-text.ts';
import { type Fitness, fitnessOfAll } from '../runtime/fitness.ts';

export const migrate: Command = {
  name: 'migrate',
  summary: 'bring the tables up to date; with --dry-run, check that every paused run still fits your agents',
  description: [
    'Brings the tables of the store up to date. It only ever adds, it is safe while others work, and whoever opens a store does it anyway.',
    'With --dry-run nothing about the runs is changed: every paused run is loaded, and each of its questions is held against your agents. Is its tool still there? Does the tool still take the recorded input? Exit code 1 if one does not. Such a run is not lost and runs nothing: it waits until an agent takes it again, or somebody rejects it.',
  ],
  options: {
    'dry-run': { summary: 'check every paused run against your agents' },
    ...STORE_OPTIONS,
  },
  examples: [
    ['countersign migrate --store postgres://localhost/app', 'before the first process of a new version starts'],
    ['countersign migrate --dry-run --agents agents.ts', 'in a pipeline, before a new version of your agents goes out'],
  ],
  async run(invocation) {
    const { output } = invocation;
    const { openAgents, openBareStore } = await import('../runtime/opening.ts');
    if (!invocation.has('dry-run')) {
      const { store, where } = await openBareStore(invocation, 'make');
      try {
        await store.migrate();
      } finally {
        await store.close();
      }
      if (output.json) output.document({ migrated: true, where });
      else output.line(`The tables in ${where} are up to date.`);
      return undefined;
    }
    const { ai, where, close } = await openAgents(invocation, undefined, 'existing');
    try {
      const runs: Fitness[] = [];
      for await (const fitness of fitnessOfAll(ai)) runs.push(fitness);
      const unfit = runs.filter(({ problems }) => problems.length > 0);
      if (output.json) output.document({ where, checked: runs.length, unfit: unfit.length, runs });
      else {
        for (const { runId, agent, problems } of runs) {
          const mark = problems.length === 0 ? output.style('green', 'ok  ') : output.style('red', 'fail');
          output.line(`${mark}  ${runId}  ${visibleLine(agent)}`);
          for (const problem of problems) output.line(`      ${visibleLine(problem)}`);
        }
        output.line(
          `${runs.length} paused ${runs.length === 1 ? 'run' : 'runs'} in ${where}, ${unfit.length} would not go on.`,
        );
      }
      return unfit.length === 0 ? EXIT.ok : EXIT.failure;
    } finally {
      await close();
    }
  },
};
