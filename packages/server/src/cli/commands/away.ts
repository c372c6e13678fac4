// `countersign away`: lists absent people, and names their delegates.
import { type Command, InvalidArgumentError } from 'commander';
import { defined } from '../../defined.ts';
import type { Absence } from '../../schemas/absence.ts';
import { timeText } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from './options.ts';

type AwayOptions = BackendOptions & {
  readonly delegate?: string;
  readonly from?: number;
  readonly until?: number;
  readonly back?: boolean;
  readonly person?: string;
};

export function addAway(program: Command, action: Action): void {
  const command = program
    .command('away')
    .summary('name a delegate for the time of your absence')
    .description(
      [
        'While you are away, your delegate may decide in your place, with your roles. Each decision names both of you. A new period replaces the one before. A delegate is a person whom the directory knows or who has signed in to the server, for at most 90 days.',
        'On a server, name your own delegate in the inbox: an API token cannot. An administrator can name those of other people with --person. A person with a passkey signs in the inbox.',
        'Without options, it lists absent people and their delegates. A time is a date or a date with a time, such as 2026-12-24 or 2026-12-24T18:00, in your time zone; a date alone means its first moment.',
      ].join('\n\n'),
    )
    .option('--delegate <person>', 'the person to decide for you')
    .option('--until <time>', 'when you are back', parseTime)
    .option('--from <time>', 'when it begins (default: now)', parseTime)
    .option('--back', 'end the absence now')
    .option('--person <id>', 'for another person; on a server, your token must reach everything')
    .option('--by <person>', 'who you are (default: $USER); a server uses the token instead')
    .action(action(away));
  withExamples(
    withBackend(command),
    ['countersign away --delegate ben --until 2026-12-28', 'ben decides for you until then'],
    ['countersign away --person ann --delegate ben --until 2026-12-28', 'ben decides for ann until then'],
    ['countersign away --back', 'you are back'],
    ['countersign away', 'list absent people'],
  );
}

function parseTime(text: string): number {
  // A date alone would be read as UTC.
  const time = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text).getTime();
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(time)) return time;
  throw new InvalidArgumentError('Use a date such as 2026-12-24, or 2026-12-24T18:00.');
}

async function away(output: Output, options: AwayOptions): Promise<undefined> {
  const { delegate, from, until, back, person } = options;
  const sets = delegate !== undefined || until !== undefined || from !== undefined;
  if (back && sets) throw usageFailure('--back takes no period.', SEE_HELP);
  return useBackend(options, { agents: sets }, async ({ absences, where }) => {
    if (sets) {
      if (delegate === undefined || until === undefined)
        throw usageFailure('Name the delegate and the end: --delegate and --until.', SEE_HELP);
      const absence = await absences.set({ delegate, until, ...defined({ from, person }) });
      if (output.json) return output.document({ absence });
      return output.line(absence ? `Recorded: ${textOf(absence)}` : 'Recorded.');
    }
    if (back) {
      await absences.end(person);
      return output.json ? output.document({ absence: null }) : output.line('Recorded: the absence has ended.');
    }
    const items = await absences.list();
    if (output.json) return output.document({ items });
    if (items.length === 0) return output.note(`No absences in ${visibleLine(where)}.`);
    for (const absence of items) output.line(textOf(absence));
  });
}

const SEE_HELP = 'See: countersign away --help';

const textOf = ({ person, delegate, from, until }: Absence): string =>
  `${visibleLine(delegate)} decides for ${visibleLine(person)} from ${timeText(from)} until ${timeText(until)}`;
