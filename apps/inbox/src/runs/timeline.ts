// A view of the timeline as a picture: one lane for the conversation and one for each call.
import { timelineOf as entriesOf, type TimedEvent, type TimelineEntry } from 'countersign/timeline';
import type { RunEvent } from '../api/wire.ts';

/** What lasted. `to` is null while it goes on. */
export type Span = {
  /** `turn`: the model thinks and speaks. `wait`: a person has not decided. `work`: the tool runs. */
  readonly is: 'turn' | 'wait' | 'work';
  readonly title: string;
  readonly from: number;
  readonly to: number | null;
};

/** What happened at one moment. */
export type Mark = {
  readonly is: 'said' | 'approved' | 'rejected' | 'answered' | 'cancelled' | 'failed' | 'ended';
  readonly title: string;
  readonly at: number;
  /** What the decider wanted others to know. */
  readonly note?: string;
};

/** One row of the picture: the conversation itself, or one call. */
export type Lane = {
  readonly id: string;
  readonly name: string;
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
};

export type Timeline = {
  readonly lanes: readonly Lane[];
  readonly from: number;
  /** When the last event happened. */
  readonly to: number;
};

type Row = { id: string; name: string; spans: Span[]; marks: Mark[] };

/** Undefined if no times were recorded. */
export function timelineOf(events: readonly RunEvent[]): Timeline | undefined {
  const timed = events.filter((event) => typeof event.at === 'number') as unknown as readonly TimedEvent[];
  const [first] = timed;
  const last = timed.at(-1);
  if (!first || !last) return undefined;
  const conversation = newRow('', 'Conversation');
  const calls = new Map<string, Row>();
  for (const entry of entriesOf(timed)) {
    if (entry.type === 'model-replied') {
      const path = entry.path.map(({ name }) => `${name} › `).join('');
      for (const { id, name } of entry.calls) calls.set(id, newRow(id, `${path}${name}`));
    }
    if ('call' in entry) draw(calls.get(entry.call.id), entry);
    // The conversation of a sub-agent is shown by the lanes of its calls.
    else if (entry.path.length === 0) draw(conversation, entry);
  }
  return { lanes: [conversation, ...calls.values()], from: first.at, to: last.at };
}

const newRow = (id: string, name: string): Row => ({ id, name, spans: [], marks: [] });

function draw(row: Row | undefined, entry: TimelineEntry): void {
  const { at } = entry;
  const mark = (is: Mark['is'], title: string) => row?.marks.push({ is, title, at });
  switch (entry.type) {
    case 'user-spoke':
      mark('said', 'User message');
      break;
    case 'model-replied':
      row?.spans.push({ is: 'turn', title: `Turn ${row.spans.length + 1}`, from: entry.startedAt, to: at });
      // A reply without calls ends the run; the user's next message continues it.
      if (entry.finishReason === 'stop' && entry.calls.length === 0) mark('ended', 'Completed');
      break;
    case 'call-started':
      begin(row, { is: 'work', title: 'Runs', from: at, to: null });
      break;
    case 'wait-started':
      begin(row, { is: 'wait', title: 'Waiting for approval', from: at, to: null });
      break;
    case 'wait-ended':
      end(row, at);
      if (entry.decision) row?.marks.push(decisionMark(entry.decision, at));
      break;
    case 'call-ended':
      end(row, at);
      if (entry.result?.type === 'error') mark('failed', 'Tool failed');
      break;
    case 'late-result':
      mark('failed', 'An earlier attempt finished late');
      break;
    case 'run-failed':
      mark('failed', 'Run failed');
      break;
    case 'run-continued':
      mark('said', 'Run resumed');
      break;
    case 'run-ended':
      mark('ended', `Run ended: ${entry.reason}`);
      break;
    // These are part of a span that is shown.
    case 'step-done':
    case 'call-committed':
    case 'call-held':
  }
}

type Decision = NonNullable<Extract<TimelineEntry, { type: 'wait-ended' }>['decision']>;

function begin(row: Row | undefined, span: Span): void {
  end(row, span.from);
  row?.spans.push(span);
}

function end(row: Row | undefined, at: number): void {
  const span = row?.spans.at(-1);
  if (row && span && span.to === null) row.spans[row.spans.length - 1] = { ...span, to: at };
}

const MARKS = {
  approve: ['approved', 'Approved'],
  restart: ['approved', 'Continued'],
  respond: ['answered', 'Answered'],
  reject: ['rejected', 'Rejected'],
  cancel: ['cancelled', 'Cancelled'],
  inside: ['approved', 'Decided inside'],
} as const;

function decisionMark(decision: Decision, at: number): Mark {
  const [is, word] = MARKS[decision.type];
  const by = decision.by === undefined ? '' : ` by ${decision.by}`;
  const how = decision.type === 'approve' && 'input' in decision ? ', with changes' : '';
  const note = decision.note ? { note: decision.note } : {};
  return { is, title: `${word}${by}${how}`, at, ...note };
}
