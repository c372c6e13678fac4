// `countersign inbox`: what waits for a person, in the terminal.
import type { Command, Invocation } from '../command.ts';
import type { CardQuery, Desk, DeskCard } from '../desk/desk.ts';
import { cardAge, cardSummary } from '../inbox/card-rows.ts';
import { Interrupted, openTerminal } from '../inbox/terminal.ts';
import { DESK_OPTIONS } from '../place-options.ts';
import { recordedText } from '../print/decision-text.ts';
import type { Output } from '../print/output.ts';
import { tableLines } from '../print/table.ts';
import { visibleLine } from '../print/visible-text.ts';

export const inbox: Command = {
  name: 'inbox',
  summary: 'what waits for a person: look, approve, reject, edit, answer, with the keyboard',
  description: [
    'Shows what waits, the oldest first, and lets you decide: ↑ ↓ and Enter to look, a approve, e edit, r reject, w answer, t take or give back, ? help, q quit. An edit opens $VISUAL or $EDITOR, and shows the change before it is sent.',
    'Where there is no terminal, it prints the list.',
  ],
  options: {
    agent: { value: 'name', summary: 'only what runs of this agent ask' },
    tool: { value: 'name', summary: 'only what this tool asks' },
    run: { value: 'run', summary: 'only what this run asks' },
    search: { value: 'words', summary: 'only where each of these words begins one of the question' },
    list: { summary: 'print the list, also in a terminal' },
    settled: { summary: 'print what was decided, the newest first' },
    limit: { value: 'number', summary: 'how many are printed, 1 to 200; 50 unless given' },
    cursor: { value: 'cursor', summary: 'go on after the page that gave this cursor' },
    by: { value: 'who', summary: 'who decides; $USER unless given. A server knows by the token' },
    ...DESK_OPTIONS,
  },
  examples: [
    ['countersign inbox', 'decides what waits in this folder'],
    ['countersign inbox --url https://approvals.example.com', 'the same on a server'],
    ['countersign inbox --json | jq -r .items[].id', 'the ids of what waits'],
  ],
  async run(invocation) {
    const { output } = invocation;
    const limit = invocation.whole('limit', 1, 200) ?? 50;
    const isSettled = invocation.has('settled');
    const query = queryOf(invocation);
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== 'dumb';
    const { openDesk } = await import('../runtime/opening.ts');
    const desk = await openDesk(invocation, { agents: true });
    try {
      if (isTerminal && !output.json && !isSettled && !invocation.has('list')) return await interactive(desk, query);
      const cursor = invocation.text('cursor');
      const order = isSettled ? ({ settled: true, order: 'newest' } as const) : {};
      const page = await desk.cards({ ...query, ...order, limit, ...(cursor !== undefined && { cursor }) });
      if (output.json) output.document(page);
      else print(page.items, page.cursor, desk, output, isTerminal);
      return undefined;
    } finally {
      await desk.close();
    }
  },
};

function queryOf(invocation: Invocation): CardQuery {
  const [agent, tool, runId, search] = ['agent', 'tool', 'run', 'search'].map((name) => invocation.text(name));
  return {
    ...(agent !== undefined && { agent }),
    ...(tool !== undefined && { tool }),
    ...(runId !== undefined && { runId }),
    ...(search !== undefined && { search }),
  };
}

async function interactive(desk: Desk, query: CardQuery): Promise<undefined> {
  const { runInbox } = await import('../inbox/session.ts');
  const terminal = openTerminal(process.stdin, process.stdout);
  try {
    await runInbox(desk, terminal, query);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    terminal.close();
    process.exit(error.exitCode);
  } finally {
    terminal.close();
  }
  return undefined;
}

function print(
  cards: readonly DeskCard[],
  cursor: string | null,
  desk: Desk,
  output: Output,
  isTerminal: boolean,
): void {
  const now = Date.now();
  if (cards.length === 0) output.note(`Nothing to show in ${visibleLine(desk.where)}.`);
  for (const card of cards) {
    const risk = card.risk === null ? '' : `${card.risk} risk`;
    const [line = ''] = tableLines(
      [[visibleLine(card.tool), risk, cardAge(card, now), cardSummary(card)].filter((cell) => cell !== '')],
      output.rowWidth,
    );
    output.line(card.risk === 'high' ? output.style('yellow', line) : line);
    output.line(output.style('dim', `  ${card.id}`));
    if (card.decision) {
      const { by, at, channel, note, ...said } = card.decision;
      output.line(output.style('magenta', `  ${recordedText({ decision: said, by, at, channel, note })}`));
    }
  }
  if (cursor !== null) output.note(`There are more: --cursor ${visibleLine(cursor)}`);
  if (cards.some(({ status }) => status === 'pending')) {
    output.note('Decide with: countersign decide <id> --approve | --reject | --respond <answer> | --edit <json>');
    if (!isTerminal) output.note('In a terminal, `countersign inbox` lets you decide with the keyboard.');
  }
}
