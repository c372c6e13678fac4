// `countersign replay`: what other rules, policies and grants would have done with the calls of the past.
import type { Command } from 'commander';
import { type Replayed, type ReplayedCalls, rulesOf } from 'countersign/store';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { durationOf } from '../grant-options.ts';
import { type Action, type StoreOptions, withExamples, withStore } from '../options.ts';

const DAY_MS = 86_400_000;
/** Shown of each change; --json has the newest 100. */
const MOST_SHOWN = 10;

type ReplayOptions = StoreOptions & {
  readonly config?: string;
  readonly since?: number;
  readonly grant?: readonly object[];
};

export function addReplay(program: Command, action: Action): void {
  const command = program
    .command('replay')
    .summary('replay past calls under other rules, policies and grants')
    .description(
      'Judges every recorded call again: what would newly run, newly ask, need a second person or other people, or be denied. Nothing is recorded. Calls count by when their run began. Without --config, the rules of your project are replayed.',
    )
    .option('--config <file>', 'a countersign.config file instead of the one of the project')
    .option('--since <time>', 'how far back, such as 90d (default: 90d)', durationOf)
    .option('--grant <json>', 'a grant to try, such as \'{"tool":"pay","uses":50}\'; repeat it for several', grantsOf)
    .action(action(replay));
  withExamples(withStore(command), ['countersign replay --config new.config.ts --since 90d', 'before you deploy it']);
}

async function replay(output: Output, options: ReplayOptions): Promise<undefined> {
  const { config, since: back = 90 * DAY_MS, grant: grants = [] } = options;
  const { openAgents } = await import('../../runtime/opening.ts');
  const { ai, close } = await openAgents(options, undefined, output, {
    opening: 'existing',
    ...(config !== undefined && { config }),
  });
  try {
    const since = (await ai.runs.store.now()) - back;
    const onProgress = (runs: number) => {
      if (runs % 1_000 === 0 && runs > 0) output.note(`${runs} runs …`);
    };
    const replayed = await rulesOf(ai).replay({ since, grants: grants as never, onProgress });
    if (output.json) output.document(replayed);
    else print(output, replayed);
    return undefined;
  } finally {
    await close();
  }
}

const WORDS: Readonly<Record<keyof Replayed['changes'], string>> = {
  runs: 'would newly run',
  asks: 'would newly ask',
  second: 'would need more people',
  others: 'would ask other people',
  denied: 'would newly be denied',
  unknown: 'cannot be replayed',
};

function print(output: Output, { since, runs, calls, same, changes, unread }: Replayed): void {
  output.line(`${calls} calls of ${runs} runs since ${timeText(since)}; nothing changes for ${same}.`);
  for (const [change, counted] of Object.entries(changes) as [keyof typeof WORDS, ReplayedCalls][]) {
    if (counted.count === 0) continue;
    const { count, approved, edited, rejected, calls: found } = counted;
    const decided = `people approved ${approved}, edited ${edited} and rejected ${rejected} of them`;
    output.line(`${count} ${WORDS[change]}${approved + edited + rejected > 0 ? `; ${decided}` : ''}:`);
    for (const { id, tool, title, why } of found.slice(-MOST_SHOWN).toReversed())
      output.line(`  ${id}  ${visibleLine(why ?? title ?? tool)}`);
    if (count > MOST_SHOWN) output.line(`  and ${count - MOST_SHOWN} more`);
  }
  if (unread > 0) output.note(`${unread} runs could not be read. Check them with: countersign verify <run>`);
}

function grantsOf(text: string, before: readonly object[] = []): readonly object[] {
  try {
    const grant: unknown = JSON.parse(text);
    const { tool, uses } = (grant ?? {}) as { readonly tool?: unknown; readonly uses?: unknown };
    if (typeof tool === 'string' && Number.isSafeInteger(uses)) return [...before, grant as object];
  } catch {
    // The same mistake.
  }
  throw usageFailure(
    `Invalid grant ${text}.`,
    'Example: --grant \'{"tool":"pay","uses":50,"where":[{"field":"to","equals":"ACME"}]}\'',
  );
}
