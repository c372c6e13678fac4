// `countersign freeze`, `unfreeze` and `freezes`: calls that must not start, on a server or directly on its store.
import type { Command } from 'commander';
import { defined } from '../../defined.ts';
import type { Freeze } from '../../schemas/freeze.ts';
import { timeText } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withDecider, withExamples } from './options.ts';

type FreezeOptions = BackendOptions & {
  readonly agent?: readonly string[];
  readonly person?: readonly string[];
  readonly all?: boolean;
  readonly reason: string;
};

export function addFreeze(program: Command, action: Action): void {
  const command = program
    .command('freeze [tools...]')
    .summary('stop calls from starting')
    .description(
      [
        'Once this command ends, no call that it covers starts in any process, approved or not: it waits. Calls that run go on; they are listed. All that is given must hold, and in names of tools * stands for any characters.',
        'If the server is down, name the store instead: --store.',
      ].join('\n\n'),
    )
    .option('--agent <names...>', 'only calls of these agents, and of their sub-agents')
    .option('--person <ids...>', 'only runs that these people started, or wrote to')
    .option('--all', 'every call')
    .requiredOption('--reason <text>', 'why, for everyone who waits')
    .action(action(freeze));
  withExamples(
    withBackend(withDecider(command)),
    ['countersign freeze pay "transfer_*" --reason "the mailbox was hacked"', 'nothing is paid from now on'],
    ['countersign freeze --all --store ./runs.db --reason "an incident"', 'without a server'],
  );
}

export function addUnfreeze(program: Command, action: Action): void {
  const command = program
    .command('unfreeze <freeze>')
    .summary('lift a freeze')
    .description(
      'Votes to lift a freeze. Once its policy is satisfied, the calls that waited go on: those that may still run.',
    )
    .option('--note <text>', 'why, for the record')
    .action(action(unfreeze));
  withExamples(withBackend(withDecider(command)), [
    'countersign unfreeze freeze_zd3ej… --note "new password"',
    'with a note',
  ]);
}

export function addFreezes(program: Command, action: Action): void {
  const command = program
    .command('freezes')
    .summary('list what is frozen')
    .description('Lists what is frozen, why, by whom and since when, and which votes are missing to lift it.')
    .option('--lifted', 'freezes that have ended instead, newest first')
    .action(action(listFreezes));
  withExamples(withBackend(command), ['countersign freezes', 'what is frozen now']);
}

async function freeze(output: Output, tools: readonly string[], options: FreezeOptions) {
  const { agent: agents, person: people, all, reason } = options;
  const isLimited = tools.length > 0 || agents !== undefined || people !== undefined;
  if (isLimited === (all === true))
    throw usageFailure(
      'Name tools, --agent or --person, or freeze every call with --all.',
      'See countersign freeze --help',
    );
  return useBackend(options, judged(output), async ({ freezes }) => {
    const made = await freezes.freeze({ reason, ...defined({ agents, people }), ...(tools.length > 0 && { tools }) });
    if (output.json) return output.document(made);
    output.line(`Frozen: ${coveredText(made)}. Lift it with: countersign unfreeze ${made.id}`);
    if (made.running.length === 0) return output.note('No covered call was running.');
    output.note('These calls had started before, and go on:');
    const rows = made.running.map(({ runId, tool, since, progress, steps }) => [
      ...[visibleLine(tool), runId, since === null ? '' : timeText(since)],
      [progress, ...steps.map((step) => `${visibleLine(step)} done`)].join(', '),
    ]);
    output.table(['TOOL', 'RUN', 'SINCE', 'KNOWN OF IT'], rows);
  });
}

/** In an emergency, a file that does not load must not stop anyone. */
const judged = (output: Output) => ({
  agents: true,
  withoutAgents: (why: string) =>
    output.note(`No policy was checked that says who may freeze calls or lift a freeze: ${visibleLine(why)}`),
});

async function unfreeze(output: Output, id: string, options: BackendOptions & { readonly note?: string }) {
  return useBackend(options, judged(output), async ({ freezes }) => {
    const freeze = await freezes.lift(id, options.note);
    if (output.json) return output.document(freeze);
    output.line(freeze.lifted ? `Lifted: ${coveredText(freeze)}.` : `Recorded. Still frozen: ${missingText(freeze)}.`);
  });
}

async function listFreezes(output: Output, options: BackendOptions & { readonly lifted?: boolean }) {
  return useBackend(options, { agents: false }, async ({ freezes, where }) => {
    const items = await freezes.list(options.lifted === true);
    if (output.json) return output.document({ items });
    if (items.length === 0) return output.note(`Nothing is frozen in ${visibleLine(where)}.`);
    const rows = items.map((freeze) => [
      ...[freeze.id, coveredText(freeze), visibleLine(freeze.reason), visibleLine(freeze.by ?? 'someone')],
      timeText(freeze.at),
      freeze.lifted ? `lifted by ${visibleLine(freeze.lifted.by ?? 'someone')}` : missingText(freeze),
    ]);
    output.table(['ID', 'FROZEN', 'WHY', 'BY', 'SINCE', 'LIFTED BY'], rows);
  });
}

/** As in `tools pay; people ann`. */
function coveredText({ tools, agents, people }: Pick<Freeze, 'tools' | 'agents' | 'people'>): string {
  const given = Object.entries({ tools, agents, people }).flatMap(([what, names]) =>
    names ? [`${what} ${names.map(visibleLine).join(', ')}`] : [],
  );
  return given.length > 0 ? given.join('; ') : 'every call';
}

function missingText({ missing }: Pick<Freeze, 'missing'>): string {
  const groups = missing.map(({ of, count }) => {
    const who = [...(of.people ?? []), ...(of.roles ?? []).map((role) => `the role ${role}`)].map(visibleLine);
    return `${count} of ${who.length > 0 ? who.join(', ') : 'anyone'}`;
  });
  return `needs ${groups.join(' and ')}`;
}
