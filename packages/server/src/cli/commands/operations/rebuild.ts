// `countersign rebuild`: completes the copy that lists come from, in a store that keeps one.
import type { Command } from 'commander';
import { usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { type Action, type StoreOptions, withExamples, withStore } from '../options.ts';

export function addRebuild(program: Command, action: Action): void {
  const command = program
    .command('rebuild')
    .summary('rebuild the lists of a store on Restate')
    .description(
      'A store on Restate has its lists, searches and statistics from a copy of the runs in another database. If that was lost or restored from a backup, this completes it from the runs themselves. It is safe while others use the store, and can be repeated. SQLite and PostgreSQL stores have no such copy.',
    )
    .action(action(rebuild));
  withExamples(withStore(command), [
    'countersign rebuild --agents agents.ts',
    'after the database of the lists was lost',
  ]);
}

async function rebuild(output: Output, options: StoreOptions): Promise<undefined> {
  const { openAgents } = await import('../../runtime/opening.ts');
  const { ai, where, close } = await openAgents(options, undefined, output, { opening: 'existing' });
  try {
    const { projection } = ai.runs.store;
    if (projection === undefined)
      throw usageFailure(
        `The store (${where}) has nothing to rebuild: its lists come from the runs themselves.`,
        'For a store on Restate, pass `admin`, the address of its admin API, to restateStore().',
      );
    const runs = await projection.rebuild((done) => {
      if (done % 1_000 === 0) output.note(`${done} runs …`);
    });
    if (output.json) output.document({ rebuilt: runs, where });
    else output.line(`The lists have all ${runs} ${runs === 1 ? 'run' : 'runs'}.`);
    return undefined;
  } finally {
    await close();
  }
}
