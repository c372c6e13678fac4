// `countersign runs`: the runs of a store, a page at a time.
import type { Command } from '../command.ts';
import { DESK_OPTIONS } from '../place-options.ts';
import { roughDuration, timeText } from '../print/moment.ts';
import { tableLines } from '../print/table.ts';
import { visibleLine } from '../print/visible-text.ts';

const STATUSES = ['running', 'waiting', 'done', 'failed', 'cancelled'] as const;
type Status = (typeof STATUSES)[number];

export const COLOURS = { running: 'cyan', waiting: 'yellow', done: 'green', failed: 'red', cancelled: 'dim' } as const;

export const runs: Command = {
  name: 'runs',
  summary: 'list runs, the newest first',
  description: ['Lists runs with their status. Without --limit, the newest 50.'],
  options: {
    status: { value: 'status', summary: 'only those', choices: STATUSES },
    agent: { value: 'name', summary: 'only those of this agent' },
    'started-by': { value: 'who', summary: 'only those that this person started' },
    limit: { value: 'number', summary: 'how many, 1 to 200; 50 unless given' },
    cursor: { value: 'cursor', summary: 'go on after the page that gave this cursor' },
    ...DESK_OPTIONS,
  },
  examples: [
    ['countersign runs --status waiting', 'what waits for a person'],
    ['countersign runs --agent assistant --limit 10 --json', 'ten runs of one agent, for a program'],
  ],
  async run(invocation) {
    const { output } = invocation;
    const limit = invocation.whole('limit', 1, 200) ?? 50;
    const [status, agent, startedBy, cursor] = ['status', 'agent', 'started-by', 'cursor'].map((name) =>
      invocation.text(name),
    );
    const { openDesk } = await import('../runtime/opening.ts');
    const desk = await openDesk(invocation, { agents: false });
    try {
      const page = await desk.runs({
        limit,
        ...(status !== undefined && { status: status as Status }),
        ...(agent !== undefined && { agent }),
        ...(startedBy !== undefined && { startedBy }),
        ...(cursor !== undefined && { cursor }),
      });
      if (output.json) {
        output.document(page);
        return undefined;
      }
      if (page.items.length === 0) output.note(`There are no such runs in ${visibleLine(desk.where)}.`);
      const now = Date.now();
      const rows = page.items.map((run) => [
        { text: run.status, paint: (text: string) => output.style(COLOURS[run.status], text) },
        run.id,
        visibleLine(run.agent),
        `${roughDuration(now - run.updatedAt)}${now - run.updatedAt < 1_000 ? '' : ' ago'}`,
        timeText(run.createdAt),
        run.startedBy === null ? '' : visibleLine(run.startedBy),
      ]);
      const head = ['STATUS', 'RUN', 'AGENT', 'CHANGED', 'STARTED', 'BY'].map((text) => ({
        text,
        paint: (filled: string) => output.style('dim', filled),
      }));
      if (rows.length > 0) for (const line of tableLines([head, ...rows], output.rowWidth)) output.line(line);
      if (page.cursor !== null) output.note(`There are more: --cursor ${visibleLine(page.cursor)}`);
      return undefined;
    } finally {
      await desk.close();
    }
  },
};
