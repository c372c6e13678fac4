// `countersign show <run>`: one run as a timeline.
import type { Command, Invocation } from '../command.ts';
import type { Desk, DeskRunView } from '../desk/desk.ts';
import { required } from '../parse-arguments.ts';
import { DESK_OPTIONS } from '../place-options.ts';
import { durationText, timeText } from '../print/moment.ts';
import type { Format, Output } from '../print/output.ts';
import { padded, widthOf, wrap } from '../print/text-width.ts';
import { createTimeline, type Entry, offsetText } from '../print/timeline.ts';
import { visibleLine } from '../print/visible-text.ts';
import { COLOURS } from './runs.ts';

export const show: Command = {
  name: 'show',
  arguments: '<run>',
  summary: 'show one run as a timeline: what happened, who decided what, how long it took',
  description: [
    'Shows what happened in a run, with the time since it began. Behind a step stands how long it took; behind a decision, how long it was waited for.',
  ],
  options: {
    follow: { short: 'f', summary: 'go on as it happens, until the run has ended' },
    ...DESK_OPTIONS,
  },
  examples: [
    ['countersign show run_fJ3k', 'what happened so far'],
    ['countersign show run_fJ3k --follow --json', 'every event as a line of JSON, as it happens'],
  ],
  async run(invocation) {
    const runId = required(show, invocation);
    const { openDesk } = await import('../runtime/opening.ts');
    const desk = await openDesk(invocation, { agents: false });
    try {
      if (invocation.has('follow')) await follow(desk, runId, invocation);
      else await showOnce(desk, runId, invocation);
      return undefined;
    } finally {
      await desk.close();
    }
  },
};

async function showOnce(desk: Desk, runId: string, { output }: Invocation): Promise<void> {
  const run = await desk.run(runId);
  const events = await desk.events(runId);
  const read = createTimeline();
  const timeline = events.flatMap(read);
  if (output.json) {
    const { messages: _messages, ...rest } = run;
    output.document({ ...rest, timeline });
    return;
  }
  head(run, output);
  for (const entry of timeline) line(entry, output);
  await foot(desk, run, output);
}

async function follow(desk: Desk, runId: string, { output }: Invocation): Promise<void> {
  const run = await desk.run(runId);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  if (!output.json) head(run, output);
  const read = createTimeline();
  let isThere = true;
  const reached = (isNow: boolean) => {
    if (isNow !== isThere)
      output.note(
        isNow ? 'Connected again.' : `No connection to ${visibleLine(desk.where)}; trying again all the time …`,
      );
    isThere = isNow;
  };
  for await (const event of desk.follow(runId, stop.signal, reached))
    if (output.json) output.document(event, { follow: true });
    else for (const entry of read(event)) line(entry, output);
  if (!output.json && isThere) await foot(desk, await desk.run(runId), output);
}

function head(run: DeskRunView, { line, style }: Output): void {
  line(`${style('bold', run.id)}  ${visibleLine(run.agent)}  ${style(COLOURS[run.status], run.status)}`);
  const by = run.startedBy === null ? '' : ` by ${visibleLine(run.startedBy)}`;
  line(style('dim', `started ${timeText(run.createdAt)}${by}, changed ${timeText(run.updatedAt)}`));
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

/** Where the words begin. */
const OFFSET = 13;
const WHO = 16;

function line(entry: Entry, { line, style, width }: Output): void {
  const isDecided = entry.tone === 'decided';
  const took = entry.tookMs === null ? '' : ` (${isDecided ? 'waited ' : ''}${durationText(entry.tookMs)})`;
  const rows = wrap(`${entry.what}${took}`, Math.max(20, width - OFFSET - WHO));
  const offset = offsetText(entry).padStart(OFFSET - 2);
  const isShort = widthOf(entry.who) < WHO;
  const who = isShort ? [padded(entry.who, WHO - 1)] : [entry.who, ' '.repeat(OFFSET + WHO - 1)];
  const margin = ' '.repeat(OFFSET + WHO);
  const tone = (text: string) => (entry.tone === 'said' ? text : style(TONES[entry.tone], text));
  line(`${style('dim', offset)}  ${who.join('\n')} ${tone(rows[0] ?? '')}`);
  for (const row of rows.slice(1)) line(`${margin}${tone(row)}`);
}

async function foot(desk: Desk, run: DeskRunView, { line, style }: Output): Promise<void> {
  if (run.error) {
    line();
    line(style('red', `It stopped for an error (${run.error.code}): ${visibleLine(run.error.message)}`));
  }
  if (run.pending.length === 0) {
    line();
    line(
      `The run is ${style(COLOURS[run.status], run.status)}${run.finishReason === null ? '' : ` (${run.finishReason})`}.`,
    );
    return;
  }
  const { items } = await desk.cards({ runId: run.id, limit: 50 });
  line();
  line(items.length === 1 ? 'It waits for a decision:' : `It waits for ${run.pending.length} decisions:`);
  for (const { id, allows } of items) {
    line(`  countersign decide ${id}`);
    line(style('dim', `      --${allows.join(' | --')}`));
  }
}
