// A view of the timeline as lines of text: each step, its person, and its duration.
import type { Json, Message, Part } from 'countersign';
import { type Decision, createTimeline as readTimeline, type TimelineEntry, type Usage } from 'countersign/request';
import { decisionText } from '../../text/decision-text.ts';
import { durationText } from '../../text/moment.ts';
import { valueLine } from '../../text/value-text.ts';
import { visibleLine, visibleText } from '../../text/visible-text.ts';
import type { SequencedEvent } from '../backend/backend.ts';

export type Entry = {
  readonly seq: number;
  readonly at: number;
  /** Milliseconds since the run started. */
  readonly afterMs: number;
  /** The user, the model, a tool, the person who decided, or the run itself. */
  readonly who: string;
  readonly what: string;
  readonly tone: 'said' | 'asked' | 'decided' | 'done' | 'bad' | 'quiet';
  /** How long the step, or the wait for a decision, took. */
  readonly tookMs: number | null;
  /** The tokens of a reply, on its first line. */
  readonly usage: Usage | null;
};

/** Returns a function that turns each event into lines, so that a run can be followed. */
export function createTimeline(): (event: SequencedEvent) => readonly Entry[] {
  const entriesOf = readTimeline();
  let startedAt: number | undefined;
  return (event) => {
    const { seq, at } = event;
    startedAt ??= at;
    const common = { seq, at, afterMs: at - startedAt };
    return entriesOf(event).flatMap((entry) => {
      const names = entry.path.map(({ name }) => `${visibleLine(name)} › `).join('');
      return linesOf(entry).map((line) => ({
        ...common,
        tookMs: null,
        usage: null,
        ...line,
        who: `${names}${line.who}`,
      }));
    });
  };
}

type Line = Pick<Entry, 'who' | 'what' | 'tone'> & Partial<Pick<Entry, 'tookMs' | 'usage'>>;

function linesOf(entry: TimelineEntry): readonly Line[] {
  const who = 'call' in entry ? visibleLine(entry.call.name) : 'run';
  const tookMs = 'startedAt' in entry && entry.startedAt !== null ? entry.at - entry.startedAt : null;
  switch (entry.type) {
    case 'user-spoke':
      // The messages to a sub-agent are the input of its call, which is shown.
      return entry.path.length > 0 ? [] : entry.messages.filter(({ role }) => role === 'user').map(userSaid);
    case 'model-replied':
      return modelSaid(entry.content).map((line, index) =>
        index === 0 ? { ...line, usage: entry.usage ?? null } : line,
      );
    case 'call-granted': {
      const giver = entry.by === undefined ? '' : ` of ${visibleLine(entry.by)}`;
      const amount = entry.amount === undefined ? '' : ` (${entry.amount})`;
      const what = `runs without a request under ${visibleLine(entry.grantId)}${giver}${amount}`;
      return [{ who, what, tone: 'quiet' }];
    }
    case 'call-observed':
      return [{ who, what: `runs unasked; would have asked: ${entry.why.map(visibleLine).join('; ')}`, tone: 'quiet' }];
    case 'call-started':
      return [{ who, what: 'starts', tone: 'quiet' }];
    case 'wait-started':
      return [{ who, what: asks(entry.request), tone: 'asked' }];
    case 'wait-ended':
      // A decision for a sub-agent is also recorded at the call itself.
      if (!entry.decision || entry.path.length > 0) return [];
      return decided(entry.decision).map((line) => ({ ...line, what: `${asked(entry)}: ${line.what}`, tookMs }));
    case 'vote-cast': {
      const { vote, edit, call } = entry;
      const forWhom = vote.onBehalfOf === undefined ? '' : ` for ${visibleLine(vote.onBehalfOf)}`;
      const again = edit === undefined ? '' : '; others are asked again';
      const what = `votes on ${visibleLine(call.name)}${forWhom}: ${decisionText(vote.decision)}${again}`;
      return [{ who: signed(vote), what, tone: 'decided' }];
    }
    case 'request-escalated':
      return [{ who, what: `is escalated to ${whoLine(entry.to)}`, tone: 'asked' }];
    case 'request-assigned':
      return [
        {
          who,
          what: entry.to === null ? 'is no longer assigned' : `is assigned to ${visibleLine(entry.to)}`,
          tone: 'quiet',
        },
      ];
    case 'request-commented':
      return [
        {
          who: visibleLine(entry.by),
          what: `comments on ${visibleLine(entry.call.name)}: ${visibleLine(entry.text)}`,
          tone: 'quiet',
        },
      ];
    case 'votes-withdrawn': {
      const why = entry.reason === undefined ? '' : `: ${visibleLine(entry.reason)}`;
      return [
        { who, what: `no longer counts votes of ${visibleLine(entry.of)}, who was removed${why}`, tone: 'asked' },
      ];
    }
    case 'policy-applied': {
      const by = entry.by === null ? '' : ` by ${visibleLine(entry.by)}`;
      return [
        {
          who,
          what: `its policy ${visibleLine(entry.policies.flatMap(({ name }) => name ?? []).join(' + '))} is applied again${by}`,
          tone: 'asked',
        },
      ];
    }
    case 'step-done':
      return [{ who, what: `step ${visibleLine(entry.step)} is done`, tone: 'quiet' }];
    case 'call-cleared': {
      const why = entry.as === undefined ? '' : ' by a rule, without a request';
      return [{ who, what: `may run${why}, and waits for its caller`, tone: 'quiet' }];
    }
    case 'call-committed':
      return [{ who, what: 'is about to act', tone: 'quiet' }];
    case 'late-result':
      return [{ who, what: `an earlier try ended late, and ${resultLine(entry.result)}`, tone: 'bad' }];
    case 'call-frozen': {
      const by = entry.freeze.by === null ? '' : ` by ${visibleLine(entry.freeze.by)}`;
      return [{ who, what: `is frozen${by}: ${visibleLine(entry.freeze.reason)}`, tone: 'bad' }];
    }
    case 'run-unfrozen':
      return [{ who, what: 'is no longer frozen', tone: 'quiet' }];
    case 'call-held':
      return [{ who, what: 'stopped in the middle and can continue', tone: 'quiet' }];
    case 'call-ended': {
      const { result } = entry;
      if (!result) return [];
      return [{ who, what: resultLine(result), tone: result.type === 'output' ? 'done' : 'bad', tookMs }];
    }
    case 'run-continued':
      return [{ who, what: 'continues', tone: 'quiet' }];
    case 'run-failed':
      return [{ who, what: `failed: ${visibleLine(entry.message ?? 'unknown reason')}`, tone: 'bad' }];
    case 'run-ended': {
      const because = entry.message === undefined ? '' : `: ${visibleLine(entry.message)}`;
      return [{ who, what: `ended, ${entry.reason}${because}`, tone: entry.reason === 'stop' ? 'done' : 'bad' }];
    }
  }
}

type Result = Extract<TimelineEntry, { type: 'late-result' }>['result'];
type Asked = Extract<TimelineEntry, { type: 'wait-started' }>['request'];

const resultLine = (result: Result): string =>
  result.type === 'output' ? `gives ${valueLine(result.output)}` : `${result.type}: ${visibleLine(result.text)}`;

const userSaid = ({ content }: Message): Line => ({ who: 'user', what: textOf(content) || '(no text)', tone: 'said' });

function modelSaid(content: readonly Part[]): readonly Line[] {
  const text = textOf(content);
  const calls = content.flatMap((part) => ('toolRequest' in part ? [part.toolRequest] : []));
  return [
    ...(text === '' ? [] : [{ who: 'model', what: text, tone: 'said' as const }]),
    ...calls.map(({ name, input }) => ({
      who: 'model',
      what: `calls ${visibleLine(name)}  ${valueLine(input)}`.trimEnd(),
      tone: 'quiet' as const,
    })),
  ];
}

const textOf = (content: readonly Part[]): string =>
  visibleText(content.map((part) => ('text' in part ? part.text : '')).join(''));

/** As in `Pay €950 to ACME (pay)`. */
function asked({ call, request }: Extract<TimelineEntry, { type: 'wait-ended' }>): string {
  const title = request?.kind === 'inside' ? undefined : request?.shown.title;
  const tool = visibleLine(call.name);
  return title === undefined ? tool : `${visibleLine(title)} (${tool})`;
}

function asks(request: Asked): string {
  if (request.kind === 'inside') return KINDS.inside;
  const { kind, wait: { expiresAt } = {} } = request;
  const { title, payload, risk } = request.shown;
  const message = (payload as { readonly message?: unknown } | null)?.message;
  const until = expiresAt && `until ${new Date(expiresAt).toISOString()}`;
  const words = [title && visibleLine(title), KINDS[kind], risk && `${risk} risk`, until].filter(Boolean).join(', ');
  return typeof message === 'string' ? `${words}: ${visibleLine(message)}` : words;
}

const KINDS = {
  approval: 'waits for an approval',
  question: 'asks a question',
  interrupt: 'stops to ask',
  doubt: 'was started, but its outcome is unknown',
  unavailable: 'was approved, but is gone or no longer accepts its input',
  recall: 'is approved, and waits to be recalled',
  inside: 'waits for a sub-agent',
} as const;

function decided(decision: Decision): readonly Omit<Line, 'tookMs'>[] {
  if (decision.type === 'inside') {
    const notes = (decision.decided ?? []) as readonly { readonly [key: string]: any }[];
    if (notes.length === 0) return [{ who: 'someone', what: 'decided for a sub-agent', tone: 'decided' }];
    return notes.map((note) => ({ who: signed(note), what: decisionText(note), tone: 'decided' }));
  }
  // On record the edited input is the input; a decision calls it an edit.
  const { input, note, ...said } = decision as Decision & { readonly input?: any };
  const words = decisionText({ ...said, edit: input, replaceInput: input } as Json);
  const beside = note === undefined ? '' : `, note: ${visibleLine(note)}`;
  return [{ who: signed(decision), what: `${words}${beside}`, tone: 'decided' }];
}

const whoLine = ({
  people = [],
  roles = [],
}: {
  readonly people?: readonly string[];
  readonly roles?: readonly string[];
}) => [...people, ...roles.map((role) => `the role ${role}`)].map(visibleLine).join(', ');

function signed({ by, channel }: { readonly by?: unknown; readonly channel?: unknown }): string {
  const who = typeof by === 'string' ? visibleLine(by) : 'someone';
  return typeof channel === 'string' ? `${who} (${visibleLine(channel)})` : who;
}

/** As in `+2 min 3 s`. */
export const offsetText = (entry: Entry): string => `+${durationText(entry.afterMs)}`;
