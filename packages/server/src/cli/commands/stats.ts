// `countersign stats`: how people decide, as tables, CSV or JSON.
import type { Command } from 'commander';
import { defined } from '../../defined.ts';
import { csvOf } from '../../insights/csv.ts';
import type { Insights } from '../../schemas/insights.ts';
import { durationText } from '../../text/moment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, wholeNumber, withBackend, withExamples } from './options.ts';

type StatsOptions = BackendOptions & {
  readonly days: number;
  readonly tool?: string;
  readonly person?: string;
  readonly policy?: string;
  readonly csv?: boolean;
};

export function addStats(program: Command, action: Action): void {
  const command = program
    .command('stats')
    .summary('show how people decide')
    .description(
      'Shows how requests of the last days were decided, by tool, person and policy: outcomes, time to decision, findings.',
    )
    .option('--days <number>', 'days in UTC, including today', wholeNumber(1, 366), 30)
    .option('--tool <name>', 'only requests of this tool')
    .option('--person <id>', 'only requests that this person voted on')
    .option('--policy <name>', 'only requests with this policy')
    .option('--csv', 'print CSV for spreadsheets')
    .action(action(showStats));
  withExamples(
    withBackend(command),
    ['countersign stats --days 7', 'the last week'],
    ['countersign stats --tool pay --csv > pay.csv', 'one tool, for a spreadsheet'],
  );
}

async function showStats(output: Output, { days, tool, person, policy, csv, ...options }: StatsOptions) {
  return useBackend(options, { agents: false }, async (backend) => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    const insights = await backend.insights(defined({ days, tool, person, policy, timeZone }));
    if (output.json) return output.document(insights);
    if (csv) return output.line(csvOf(insights).trimEnd());
    if (insights.total.requests === 0)
      return output.note(`No request was decided in ${days} days in ${visibleLine(backend.where)}.`);
    output.table(HEAD, rowsOf(insights));
    for (const note of notesOf(insights)) output.note(note);
  });
}

const HEAD = ['OF', 'NAME', 'REQUESTS', 'APPROVED', 'EDITED', 'REJECTED', 'EXPIRED', 'MEDIAN', '90 %'];

type Figures = Insights['total'];

function rowsOf({ total, tools, people, policies }: Insights): readonly (readonly string[])[] {
  const row = (of: string, name: string, figures: Figures) => [
    of,
    visibleLine(name),
    ...[figures.requests, figures.approved, figures.edited, figures.rejected, figures.expired].map(String),
    ...[figures.medianMs, figures.p90Ms].map((ms) => (ms === null ? '' : durationText(ms))),
  ];
  return [
    row('all', '', total),
    ...tools.map((figures) => row('tool', figures.name, figures)),
    ...people.map((figures) => row('person', figures.name, figures)),
    ...policies.map((figures) => row('policy', figures.name, figures)),
  ];
}

function notesOf({ quick, drills, grants, isComplete }: Insights): readonly string[] {
  return [
    ...quick.map(
      ({ name, approvals, medianMs }) =>
        `${visibleLine(name)} approved ${approvals} requests, each within three seconds (median ${durationText(medianMs)}). Worth a talk?`,
    ),
    ...drills.people.map(
      ({ name, caught, missed }) => `${visibleLine(name)} rejected ${caught} of ${caught + missed} drills.`,
    ),
    ...(drills.warned > 0 ? [`Reviews had warned of ${drills.warned} drills.`] : []),
    ...grants
      .filter(({ carried }) => carried > 0)
      .map(
        ({ grant, tool, carried }) => `${grant} let ${carried} calls of ${visibleLine(tool)} run without a question.`,
      ),
    ...(isComplete ? [] : ['Only the newest 10,000 requests are counted.']),
  ];
}
