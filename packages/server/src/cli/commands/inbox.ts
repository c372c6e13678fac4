// `countersign inbox`: decide pending requests in the terminal, or print them.
import { type Command, Option } from 'commander';
import type { Page } from 'countersign/store';
import { defined } from '../../defined.ts';
import { cardAge, cardSummary, decisionLine, headline, smallPrint } from '../../text/card-text.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, Card, CardQuery } from '../backend/backend.ts';
import { usageFailure } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { tableLines } from '../print/table.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import {
  type Action,
  type BackendOptions,
  type PageOptions,
  withBackend,
  withDecider,
  withExamples,
  withFilters,
  withPage,
} from './options.ts';

type InboxOptions = BackendOptions &
  PageOptions & {
    readonly agent?: string;
    readonly tool?: string;
    readonly run?: string;
    readonly search?: string;
    readonly list?: boolean;
    readonly settled?: boolean;
    readonly for?: 'me' | 'others';
    readonly decidedBy?: string;
  };

export function addInbox(program: Command, action: Action): void {
  const command = withFilters(program.command('inbox'))
    .summary('review and decide pending requests')
    .description(
      [
        'Shows pending requests, oldest first. Select one to see exactly what would run, then approve, edit, reject or answer it. Edits open in $VISUAL or $EDITOR, and you see the change before it is sent.',
        'Without a terminal it prints the list.',
      ].join('\n\n'),
    )
    .option('--list', 'print the list, even in a terminal')
    .option('--settled', 'print decided requests, newest first')
    .addOption(
      new Option('--for <whom>', 'only pending requests that wait for you, or for others').choices(['me', 'others']),
    )
    .option('--decided-by <person>', 'with --settled: only requests that this person decided')
    .action(action(showInbox));
  withExamples(
    withBackend(withPage(withDecider(command))),
    ['countersign inbox', 'decide the requests in this folder'],
    ['countersign inbox --url https://approvals.example.com', 'decide the requests of a server'],
    ['countersign inbox --for me --list', 'print what waits for you'],
    ['countersign inbox --json | jq -r .items[].id', 'print the ids of pending requests'],
  );
}

async function showInbox(output: Output, options: InboxOptions): Promise<undefined> {
  const { agent, tool, run: runId, search, list, settled, for: turn, decidedBy, limit, cursor } = options;
  if (decidedBy !== undefined && !settled)
    throw usageFailure('--decided-by works with --settled.', 'See: countersign inbox --help');
  const query: CardQuery = defined({ agent, tool, runId, search, for: turn, decidedBy });
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== 'dumb';
  return useBackend(options, { agents: true }, async (backend) => {
    if (isTerminal && !output.json && !settled && !list) return interactive(backend, query);
    const order = settled ? ('newest' as const) : undefined;
    const page = await backend.cards({ ...query, limit, ...defined({ settled, order, cursor }) });
    if (output.json) output.document(page);
    else print(page, backend, output, isTerminal);
  });
}

async function interactive(backend: Backend, query: CardQuery): Promise<void> {
  const { runInbox } = await import('../inbox/inbox.ts');
  const { Interrupted, openKeyboard } = await import('../inbox/keyboard.ts');
  const keyboard = openKeyboard();
  try {
    await runInbox(backend, query, keyboard);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    await backend.close();
    process.exit(error.exitCode);
  } finally {
    keyboard.close();
  }
}

function print({ items: cards, cursor }: Page<Card>, backend: Backend, output: Output, isTerminal: boolean): void {
  const now = Date.now();
  if (cards.length === 0) output.note(`No requests in ${visibleLine(backend.where)}.`);
  for (const card of cards) {
    const risk = card.risk === null ? '' : `${card.risk} risk`;
    const cells = [headline(card), risk, cardAge(card, now), cardSummary(card)].filter((cell) => cell !== '');
    const [line = ''] = tableLines([cells], output.rowWidth);
    output.line(card.risk === 'high' ? output.style('yellow', line) : line);
    output.line(output.style('dim', ['', card.id, ...smallPrint(card)].join('  ')));
    const decided = decisionLine(card);
    if (decided !== '') output.line(output.style('magenta', `  ${decided}`));
  }
  if (cursor !== null) output.note(`More requests: --cursor ${visibleLine(cursor)}`);
  if (cards.some(({ status }) => status === 'pending')) {
    output.note('Decide with: countersign decide <id> --approve | --reject | --respond <answer> | --edit <json>');
    if (!isTerminal) output.note('Run `countersign inbox` in a terminal to decide interactively.');
  }
}
