// `countersign migrate`: brings the tables up to date, or checks beforehand that paused runs can resume.
import type { Command } from 'commander';
import { visibleLine } from '../../../text/visible-text.ts';
import { EXIT, type ExitCode } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { type Action, type StoreOptions, withExamples, withStore } from '../options.ts';

type MigrateOptions = StoreOptions & { readonly dryRun?: boolean };

export function addMigrate(program: Command, action: Action): void {
  const command = program
    .command('migrate')
    .summary('update the tables; --dry-run checks that paused runs fit your agents')
    .description(
      [
        'Brings the tables of the store up to date. It only adds, and it is safe while others use the store. Opening a store does the same.',
        'With --dry-run it changes nothing: it loads every paused run and checks each request against your agents. Does the tool still exist? Does it still accept the recorded input? If not, the exit code is 1. Such a run is not lost: it waits until its agent accepts it again, or someone rejects the request.',
      ].join('\n\n'),
    )
    .option('--dry-run', 'check every paused run against your agents')
    .action(action((output, options: MigrateOptions) => (options.dryRun ? dryRun : migrate)(output, options)));
  withExamples(
    withStore(command),
    ['countersign migrate --store postgres://localhost/app', 'before you start a new version'],
    ['countersign migrate --dry-run --agents agents.ts', 'in CI, before you deploy changed agents'],
  );
}

async function migrate(output: Output, options: MigrateOptions): Promise<undefined> {
  const { openBareStore } = await import('../../runtime/opening.ts');
  const { store, where } = await openBareStore(options, 'make');
  try {
    await store.migrate();
  } finally {
    await store.close();
  }
  if (output.json) output.document({ migrated: true, where });
  else output.line(`Tables in ${where} are up to date.`);
  return undefined;
}

async function dryRun(output: Output, options: MigrateOptions): Promise<ExitCode> {
  const { openAgents } = await import('../../runtime/opening.ts');
  const { checkPausedRuns } = await import('../../runtime/paused-runs.ts');
  const { ai, where, close } = await openAgents(options, undefined, output, { opening: 'existing' });
  try {
    const runs = await checkPausedRuns(ai);
    const unfit = runs.filter(({ problems }) => problems.length > 0).length;
    if (output.json) output.document({ where, checked: runs.length, unfit, runs });
    else {
      for (const { runId, agent, problems } of runs) {
        const mark = problems.length === 0 ? output.style('green', 'ok  ') : output.style('red', 'fail');
        output.line(`${mark}  ${runId}  ${visibleLine(agent)}`);
        for (const problem of problems) output.line(`      ${visibleLine(problem)}`);
      }
      output.line(`${runs.length} paused ${runs.length === 1 ? 'run' : 'runs'} in ${where}, ${unfit} cannot resume.`);
    }
    return unfit === 0 ? EXIT.ok : EXIT.failure;
  } finally {
    await close();
  }
}
