// `countersign policies history|suggest`: which rules and policies were applied when and by whom, and which grants the past suggests.
import type { Command } from 'commander';
import { type RulesContent, rulesOf } from 'countersign/store';
import { timeText } from '../../../text/moment.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import type { Output } from '../../print/output.ts';
import { durationOf } from '../grant-options.ts';
import { type Action, groupOf, type StoreOptions, withExamples, withStore } from '../options.ts';

const DAY_MS = 86_400_000;
const MOST = 50;

export function addPolicies(program: Command, action: Action): void {
  const policies = groupOf(program, 'policies')
    .summary('versions of rules and policies, and suggested grants')
    .description(
      'Shows which rules and policies servers and workers applied, when, who deployed them and what changed; and suggests grants for calls that people always approved.',
    );
  withExamples(policies, ['countersign policies history', 'who changed which rule, and when']);
  const history = policies
    .command('history')
    .summary('list the applied versions of rules and policies')
    .description(
      'Lists the newest 50 versions with their differences. A server and a worker record one when they start.',
    )
    .action(action(listHistory));
  withExamples(withStore(history), ['countersign policies history --json', 'with the whole content, as JSON']);
  const suggest = policies
    .command('suggest')
    .summary('suggest grants from past approvals')
    .description('Suggests grants for calls that people always approved without a change, with the evidence.')
    .option('--since <time>', 'how far back, such as 90d (default: 90d)', durationOf)
    .action(action(suggestGrants));
  withExamples(withStore(suggest), ['countersign policies suggest --since 30d', 'from the last 30 days']);
}

/** Works on the store of the project. */
async function onStore(
  output: Output,
  options: StoreOptions,
  work: (rules: ReturnType<typeof rulesOf>, now: number) => Promise<void>,
) {
  const { openAgents } = await import('../../runtime/opening.ts');
  const { ai, close } = await openAgents(options, undefined, output, { opening: 'existing' });
  try {
    await work(rulesOf(ai), await ai.runs.store.now());
    return undefined;
  } finally {
    await close();
  }
}

const listHistory = (output: Output, options: StoreOptions) =>
  onStore(output, options, async (rules) => {
    const versions = await rules.versions(MOST);
    if (output.json) return output.document({ items: versions });
    if (versions.length === 0) output.note('No version is recorded. A server or a worker records one when it starts.');
    for (const { number, by, at, difference } of versions) {
      output.line(`Version ${number}, ${timeText(at)}, deployed by ${visibleLine(by)}`);
      for (const line of [...linesOf('+', difference.added), ...linesOf('-', difference.removed)]) output.line(line);
      for (const [name, { before, after }] of Object.entries(difference.changed))
        output.line(`  ~ policy ${visibleLine(name)}: ${textOf(before)} → ${textOf(after)}`);
    }
  });

const textOf = (value: unknown): string => visibleLine(JSON.stringify(value));

const linesOf = (sign: string, { rules, policies }: RulesContent): readonly string[] => [
  ...rules.map((rule) => `  ${sign} rule ${textOf(rule)}`),
  ...Object.entries(policies).map(([name, policy]) => `  ${sign} policy ${visibleLine(name)}: ${textOf(policy)}`),
];

const suggestGrants = (
  output: Output,
  { since = 90 * DAY_MS, ...options }: StoreOptions & { readonly since?: number },
) =>
  onStore(output, options, async (rules, now) => {
    const items = await rules.suggestions(now - since);
    if (output.json) return output.document({ items });
    if (items.length === 0)
      output.note('Nothing to suggest: no group of five or more calls was always approved unchanged.');
    for (const { tool, text, requestId, approvedBy, grant } of items) {
      output.line(`${visibleLine(tool)}: ${visibleLine(text)}`);
      output.line(`  ai.grants.give('${requestId}', ${textOf(grant)}, { by: '${visibleLine(approvedBy ?? '')}' })`);
    }
  });
