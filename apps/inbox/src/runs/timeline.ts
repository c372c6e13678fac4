// From the events of a run to its picture: who did what, from when to when.
import type { Part, RunEvent } from '../api/wire.ts';

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

const newRow = (id: string, name: string): Row => ({ id, name, spans: [], marks: [] });

type Timed = RunEvent & { readonly at: number };
/** `within`: the call in whose conversation it happened. */
type Placed = { readonly event: Timed; readonly within?: string };

/** The events, with those of a conversation inside a call where they happened. The names of calls are known by then. */
function* inOrder(events: readonly Timed[], calls: ReadonlyMap<string, Row>, within?: string): Generator<Placed> {
  for (const event of events) {
    if (event.type !== 'call-went-on') {
      yield { event, ...(within !== undefined && { within }) };
      continue;
    }
    const inside = (Array.isArray(event.inside) ? event.inside : []) as readonly RunEvent[];
    const name = calls.get(String(event.callId))?.name ?? 'inside';
    yield* inOrder(
      inside.map((inner) => ({ ...inner, at: event.at })),
      calls,
      name,
    );
  }
}

/** What belongs to the lane of the conversation; the one inside a call is told by the lanes of its calls. */
const OF_THE_TALK: ReadonlySet<string> = new Set([
  'user-spoke',
  'model-replied',
  'run-failed',
  'run-went-on',
  'run-ended',
]);

/** Undefined where nobody kept the time. */
export function timelineOf(events: readonly RunEvent[]): Timeline | undefined {
  const timed = events.filter((event): event is Timed => typeof event.at === 'number');
  const [first] = timed;
  const last = timed.at(-1);
  if (!first || !last) return undefined;

  const talk: Row = { id: '', name: 'Conversation', spans: [], marks: [] };
  const calls = new Map<string, Row>();
  let turns = 0;
  // A turn begins with what gave the model something to answer to; its own beginning is no event.
  let thinksSince = first.at;
  for (const { event, within } of inOrder(timed, calls)) {
    const row = calls.get(String(event.callId));
    if (within !== undefined && OF_THE_TALK.has(event.type)) {
      for (const { id, name } of callsOf(event)) calls.set(id, newRow(id, `${within} › ${name}`));
      continue;
    }
    switch (event.type) {
      case 'user-spoke':
        talk.marks.push({ is: 'said', title: 'The user spoke', at: event.at });
        thinksSince = event.at;
        break;
      case 'model-replied':
        turns += 1;
        talk.spans.push({ is: 'turn', title: `Turn ${turns}`, from: thinksSince, to: event.at });
        for (const { id, name } of callsOf(event)) calls.set(id, newRow(id, name));
        thinksSince = event.at;
        if (isLastWord(event)) talk.marks.push({ is: 'ended', title: 'The run came to its end', at: event.at });
        break;
      case 'call-started':
        begin(row, { is: 'work', title: 'Runs', from: event.at, to: null });
        break;
      case 'call-interrupted':
        begin(row, { is: 'wait', title: 'Waits for a person', from: event.at, to: null });
        break;
      case 'decision-made':
        end(row, event.at);
        row?.marks.push(decisionMark(event));
        break;
      case 'call-settled':
        end(row, event.at);
        thinksSince = event.at;
        if (isRecord(event.result) && event.result.type === 'error')
          row?.marks.push({ is: 'failed', title: 'The tool failed', at: event.at });
        break;
      case 'call-ended-late':
        row?.marks.push({ is: 'failed', title: 'An earlier try ended late', at: event.at });
        break;
      case 'run-failed':
        talk.marks.push({ is: 'failed', title: 'The run stopped for an error', at: event.at });
        thinksSince = event.at;
        break;
      case 'run-went-on':
        talk.marks.push({ is: 'said', title: 'The run was driven on', at: event.at });
        thinksSince = event.at;
        break;
      case 'run-ended':
        talk.marks.push({ is: 'ended', title: `The run ended: ${event.reason}`, at: event.at });
        break;
      // Steps and commit points are inside a call that is shown; a later version may know more types.
    }
  }
  return { lanes: [talk, ...calls.values()], from: first.at, to: last.at };
}

/** A reply that asks for nothing ends the run; what the user says then begins it anew. */
function isLastWord({ calls, finishReason }: RunEvent): boolean {
  return finishReason === 'stop' && Array.isArray(calls) && calls.length === 0;
}

function begin(row: Row | undefined, span: Span): void {
  end(row, span.from);
  row?.spans.push(span);
}

function end(row: Row | undefined, at: number): void {
  const span = row?.spans.at(-1);
  if (row && span && span.to === null) row.spans[row.spans.length - 1] = { ...span, to: at };
}

/** The calls of a reply with our ids: the parts know them by their `ref`. */
function callsOf(event: RunEvent): readonly { readonly id: string; readonly name: string }[] {
  const content = (Array.isArray(event.content) ? event.content : []) as readonly Part[];
  const names = new Map(
    content.flatMap(({ toolRequest }) => (toolRequest ? [[toolRequest.ref, toolRequest.name]] : [])),
  );
  const calls = (Array.isArray(event.calls) ? event.calls : []) as readonly {
    readonly id: string;
    readonly ref: string;
  }[];
  return calls.map(({ id, ref }) => ({ id, name: names.get(ref) ?? id }));
}

const MARKS = {
  approve: ['approved', 'Approved'],
  restart: ['approved', 'Continued'],
  respond: ['answered', 'Answered'],
  reject: ['rejected', 'Rejected'],
  cancel: ['cancelled', 'Cancelled'],
  inside: ['approved', 'Decided inside'],
} as const;

function decisionMark(event: Timed): Mark {
  const decision = isRecord(event.decision) ? event.decision : {};
  const [is, word] = MARKS[decision.type as keyof typeof MARKS] ?? MARKS.cancel;
  const by = typeof decision.by === 'string' ? ` by ${decision.by}` : '';
  const how = decision.type === 'approve' && 'input' in decision ? ', with changes' : '';
  const note = typeof decision.note === 'string' && decision.note !== '' ? { note: decision.note } : {};
  return { is, title: `${word}${by}${how}`, at: event.at, ...note };
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
