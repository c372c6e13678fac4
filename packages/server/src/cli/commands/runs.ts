// `countersign runs`: lists runs, one page at a time.
import { type Command, Option } from 'commander';
import { defined } from '../../defined.ts';
import type { RunSummary } from '../../schemas/run.ts';
import { roughDuration, timeText } from '../../text/moment.ts';
import { clip } from '../../text/text-width.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Output } from '../print/output.ts';
import { totalTokens } from '../print/tokens.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, type PageOptions, withBackend, withExamples, withPage } from './options.ts';

const STATUSES = ['running', 'waiting', 'done', 'failed', 'cancelled'] as const;

export const STATUS_COLOURS = {
  running: 'cyan',
  waiting: 'yellow',
  done: 'green',
  failed: 'red',
  cancelled: 'dim',
} as const;

type RunsOptions = BackendOptions &
  PageOptions & {
    readonly status?: (typeof STATUSES)[number];
    readonly agent?: string;
    readonly startedBy?: string;
  };

export function addRuns(program: Command, action: Action): void {
  const command = program
    .command('runs')
    .summary('list runs, newest first')
    .description(
      'Lists runs with their status, the request that each waits for, its prompt and its tokens. Newest first.',
    )
    .addOption(new Option('--status <status>', 'only runs with this status').choices(STATUSES))
    .option('--agent <name>', 'only runs of this agent')
    .option('--started-by <person>', 'only runs that this person started')
    .action(action(listRuns));
  withExamples(
    withBackend(withPage(command)),
    ['countersign runs --status waiting', 'runs that wait for a person'],
    ['countersign runs --agent assistant --limit 10 --json', 'ten runs of one agent, as JSON'],
  );
}

/** How much of a row the subject may take in a terminal. */
const SUBJECT_SHARE = 0.4;

/** The request that the run waits for, and the first words of the user. */
function subject({ title, waitsFor }: RunSummary): string {
  const request = waitsFor && (waitsFor.title ?? waitsFor.tool);
  return [request, title].flatMap((text) => (text ? visibleLine(text) : [])).join(' · ');
}

async function listRuns(output: Output, { status, agent, startedBy, limit, cursor, ...options }: RunsOptions) {
  return useBackend(options, { agents: false }, async (backend) => {
    const page = await backend.runs(defined({ limit, status, agent, startedBy, cursor }));
    if (output.json) return output.document(page);
    if (page.items.length === 0) return output.note(`No matching runs in ${visibleLine(backend.where)}.`);
    const now = Date.now();
    const subjectOf = (run: RunSummary) => clip(subject(run), Math.floor(output.rowWidth * SUBJECT_SHARE));
    const rows = page.items.map((run) => [
      { text: run.status, paint: (text: string) => output.style(STATUS_COLOURS[run.status], text) },
      run.id,
      subjectOf(run),
      visibleLine(run.agent),
      `${roughDuration(now - run.updatedAt)}${now - run.updatedAt < 1_000 ? '' : ' ago'}`,
      timeText(run.createdAt),
      totalTokens(run.usage),
      run.startedBy === null ? '' : visibleLine(run.startedBy),
    ]);
    output.table(['STATUS', 'RUN', 'SUBJECT', 'AGENT', 'UPDATED', 'STARTED', 'TOKENS', 'BY'], rows);
    if (page.cursor !== null) output.note(`More runs: --cursor ${visibleLine(page.cursor)}`);
  });
}
