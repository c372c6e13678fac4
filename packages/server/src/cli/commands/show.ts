// `countersign show <run>`: prints one run as a timeline.
import type { Command } from 'commander';
import { headlineAndTool } from '../../text/card-text.ts';
import { DRILL_TEXT } from '../../text/decision-text.ts';
import { durationText, timeText } from '../../text/moment.ts';
import { padded, widthOf, wrap } from '../../text/text-width.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, RunDetail } from '../backend/backend.ts';
import type { Format, Output } from '../print/output.ts';
import { createTimeline, type Entry, offsetText } from '../print/timeline.ts';
import { tokensText } from '../print/tokens.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { type Action, type BackendOptions, withBackend, withExamples } from './options.ts';
import { STATUS_COLOURS } from './runs.ts';

export function addShow(program: Command, action: Action): void {
  const command = program
    .command('show <run>')
    .summary('show one run as a timeline')
    .description(
      'Shows the steps of a run, its decisions, and how long each step took. Times are relative to the start of the run.',
    )
    .option('-f, --follow', 'print new events until the run ends')
    .action(
      action(async (output, runId: string, options: BackendOptions & { readonly follow?: boolean }) => {
        const show = options.follow ? follow : showOnce;
        return useBackend(options, { agents: false }, (backend) => show(backend, runId, output));
      }),
    );
  withExamples(
    withBackend(command),
    ['countersign show run_fJ3k', 'the steps so far'],
    ['countersign show run_fJ3k --follow --json', 'one line of JSON per event'],
  );
}

async function showOnce(backend: Backend, runId: string, output: Output): Promise<void> {
  const run = await backend.run(runId);
  const timeline = (await backend.events(runId)).flatMap(createTimeline());
  if (output.json) {
    const { messages: _messages, ...summary } = run;
    output.document({ ...summary, ...((await wasDrill(backend, run)) && { drill: true }), timeline });
    return;
  }
  printHead(run, output);
  for (const entry of timeline) printEntry(entry, output);
  await printFoot(backend, run, output);
}

async function follow(backend: Backend, runId: string, output: Output): Promise<void> {
  const run = await backend.run(runId);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  if (!output.json) printHead(run, output);
  const entriesOf = createTimeline();
  let isConnected = true;
  const onConnection = (isNow: boolean) => {
    if (isNow !== isConnected)
      output.note(isNow ? 'Reconnected.' : `Lost connection to ${visibleLine(backend.where)}. Retrying …`);
    isConnected = isNow;
  };
  for await (const event of backend.follow(runId, stop.signal, onConnection))
    if (output.json) output.document(event, { follow: true });
    else for (const entry of entriesOf(event)) printEntry(entry, output);
  if (!output.json && isConnected) await printFoot(backend, await backend.run(runId), output);
}

function printHead(run: RunDetail, { line, style }: Output): void {
  line(`${style('bold', run.id)}  ${visibleLine(run.agent)}  ${style(STATUS_COLOURS[run.status], run.status)}`);
  const by = run.startedBy === null ? '' : ` by ${visibleLine(run.startedBy)}`;
  const used = run.usage ? `, ${tokensText(run.usage)}` : '';
  line(style('dim', `started ${timeText(run.createdAt)}${by}, updated ${timeText(run.updatedAt)}${used}`));
  line();
}

const TONES: Readonly<Record<Entry['tone'], Format>> = {
  said: 'reset',
  asked: 'yellow',
  decided: 'magenta',
  done: 'green',
  bad: 'red',
  quiet: 'dim',
};

const OFFSET_WIDTH = 13;
const ACTOR_WIDTH = 16;

function printEntry(entry: Entry, { line, style, width }: Output): void {
  const isDecision = entry.tone === 'decided';
  const took = entry.tookMs === null ? '' : ` (${isDecision ? 'after ' : ''}${durationText(entry.tookMs)})`;
  const used = entry.usage ? ` (${tokensText(entry.usage)})` : '';
  const rows = wrap(`${entry.what}${took}${used}`, Math.max(20, width - OFFSET_WIDTH - ACTOR_WIDTH));
  const offset = offsetText(entry).padStart(OFFSET_WIDTH - 2);
  const margin = ' '.repeat(OFFSET_WIDTH + ACTOR_WIDTH);
  const tone = (text: string) => (entry.tone === 'said' ? text : style(TONES[entry.tone], text));
  // A long name gets a separate row.
  const actor = widthOf(entry.who) < ACTOR_WIDTH ? padded(entry.who, ACTOR_WIDTH) : `${entry.who}\n${margin}`;
  line(`${style('dim', offset)}  ${actor}${tone(rows[0] ?? '')}`);
  for (const row of rows.slice(1)) line(`${margin}${tone(row)}`);
}

/** What came of the steps of the plans of the run. */
async function printPlans(backend: Backend, { id: runId }: RunDetail, { line, style }: Output): Promise<void> {
  for (const settled of [true, false]) {
    const { items } = await backend.cards({ runId, settled, limit: 50 });
    for (const { id, payload } of items) {
      const plan =
        typeof payload === 'object' && payload !== null && 'plan' in payload ? await backend.plan(id) : undefined;
      if (!plan || plan.steps.length === 0) continue;
      line();
      line(`Plan ${id}:`);
      for (const { title, tool, status, left, calls } of plan.steps) {
        const outcomes = calls.map(({ outcome }) => outcome?.state ?? 'started');
        const what = [...outcomes, ...(left > 0 ? [`${left} left`] : outcomes.length > 0 ? [] : [status])].join(', ');
        line(`  ${visibleLine(title ?? tool)}  ${style('dim', what)}`);
      }
    }
  }
}

async function printFoot(backend: Backend, run: RunDetail, output: Output): Promise<void> {
  const { line, style } = output;
  await printPlans(backend, run, output);
  line();
  if (run.error) line(style('red', `Failed (${run.error.code}): ${visibleLine(run.error.message)}`));
  if (run.pending.length === 0) {
    const reason = run.finishReason === null || run.finishReason === 'stop' ? '' : ` (${run.finishReason})`;
    line(`The run is ${style(STATUS_COLOURS[run.status], run.status)}${reason}.`);
    if (await wasDrill(backend, run)) line(DRILL_TEXT);
    return;
  }
  const { items } = await backend.cards({ runId: run.id, limit: 50 });
  line(`Waiting for ${run.pending.length === 1 ? 'a decision' : `${run.pending.length} decisions`}:`);
  for (const card of items) {
    const { id, allows } = card;
    line(`  ${headlineAndTool(card)}`);
    line(`  countersign decide ${id}`);
    line(style('dim', `      --${allows.join(' | --')}`));
  }
}

/** Known once its request is decided. The run of a drill ends later, when a worker drives it. */
async function wasDrill(backend: Backend, { id, pending, drill }: RunDetail): Promise<boolean> {
  if (drill || pending.length > 0) return drill === true;
  const { items } = await backend.cards({ runId: id, settled: true, limit: 1 });
  return items.some((card) => card.drill);
}
