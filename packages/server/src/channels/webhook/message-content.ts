// What a message about a request says, for chats and alerts that have no separate channel.
import type { Notice } from 'countersign';
import { type CallOutcome, mayHaveRun, personText } from 'countersign/request';
import { requestCard } from 'countersign/ui';
import { filesOn } from '../../preview-files.ts';
import { PART_NAMES, partsOf } from '../../text/card-parts.ts';
import { readsAnywhere } from '../../text/format.ts';
import { outcomeText } from '../../text/outcome-text.ts';
import { clip } from '../../text/text-width.ts';
import { valueLines } from '../../text/value-text.ts';
import { visibleLine } from '../../text/visible-text.ts';

/** A part of the request, as lines that show exactly what would run. */
export type Section = { readonly heading: string; readonly lines: readonly string[] };

/** Hidden characters in it are shown as codes. Everything else is as the model and the tool wrote it: escape it. */
export type MessageContent = {
  /** Such as `Waiting for approval` or `Approved by ann`. */
  readonly status: string;
  readonly tone: 'waiting' | 'good' | 'bad' | 'over';
  readonly title: string;
  /** The agent and the tool. */
  readonly source: string;
  /** Empty if the tool keeps them out of notices, and when the request is over. */
  readonly sections: readonly Section[];
  /** False if the request was left out because it does not fit. Then it must not be decided there. */
  readonly isWhole: boolean;
};

/** Makes the message. If it does not fit, the request is left out: people must not approve a shortened one. */
export function fitted<Message>(
  notice: Notice,
  make: (content: MessageContent) => Message,
  fits: (message: Message) => boolean,
): Message {
  const { title, card, settlement } = notice;
  // A file cannot be shown there, so the request is not decided there.
  const isHuge =
    (card && filesOn(card).length > 0) || JSON.stringify([title, settlement ? null : card]).length > MOST_CHARACTERS;
  const message = isHuge ? undefined : make(contentOf(notice));
  return message !== undefined && fits(message) ? message : make(outlineOf(notice));
}

/** What the request is about and how it is, on two lines. */
export const outlineContent = (notice: Notice): Pick<MessageContent, 'status' | 'title'> => ({
  status: statusOf(notice).status,
  title: clip(visibleLine(notice.title), 200),
});

/** More does not fit any of the messages. */
const MOST_CHARACTERS = 100_000;

/** Everything that an approver sees; once the request is over, only how. */
function contentOf(notice: Notice): MessageContent {
  const { title, agent, tool, settlement } = notice;
  return {
    ...statusOf(notice),
    title: visibleLine(title),
    source: `${nameOf(agent)} · ${nameOf(tool)}`,
    sections: settlement ? [] : sectionsOf(notice),
    isWhole: true,
  };
}

function outlineOf(notice: Notice): MessageContent {
  const sections = [{ heading: 'Too large to show here', lines: ['Open the request to see all of it.'] }];
  return { ...contentOf({ ...notice, title: nameOf(notice.tool), card: null }), sections, isWhole: false };
}

const nameOf = (name: string): string => clip(visibleLine(name), 100);

const WAITING = {
  opened: 'Waiting for approval',
  doubt: 'Outcome unknown, please check',
  reminded: 'Reminder: still waiting',
  escalated: 'Escalated: still waiting',
  commented: 'New comment',
} as const;

const PAST: Readonly<Record<string, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  respond: 'Answered',
  restart: 'Continued',
  cancel: 'Cancelled',
  revise: 'Changes asked for',
};

function statusOf(notice: Notice): Pick<MessageContent, 'status' | 'tone'> {
  const { type, kind, settlement, to, outcome, names } = notice;
  switch (type) {
    case 'opened':
      return { status: kind === 'question' ? 'Waiting for an answer' : WAITING[type], tone: 'waiting' };
    case 'doubt':
    case 'reminded':
    case 'escalated':
    case 'commented':
      return { status: WAITING[type], tone: 'waiting' };
    case 'assigned': {
      const { person } = to.find(({ why }) => why === 'assignee') ?? {};
      return {
        status: person === undefined ? 'Assigned' : `Assigned to ${nameOf(personText(person, names))}`,
        tone: 'waiting',
      };
    }
    case 'decided': {
      const by = settlement?.by ?? null;
      const isProposal = outcome?.state === 'not-run' && outcome.why === 'edited';
      const { done, verb } = isProposal ? PROPOSAL : decisionOf(settlement);
      const tone = verb === 'reject' ? 'bad' : verb === 'cancel' || verb === 'revise' ? 'over' : 'good';
      const decided = { status: by === null ? done : `${done} by ${nameOf(personText(by, names))}`, tone } as const;
      return mayHaveRun(outcome) ? withOutcome(decided, outcome) : decided;
    }
    case 'done':
    case 'failed':
    case 'unknown':
    case 'not-run':
      return statusOf({ ...notice, type: 'decided' });
    case 'expired':
      return { status: `Expired: ${decisionOf(settlement).done.toLowerCase()} automatically`, tone: 'over' };
    case 'withdrawn':
      return { status: 'Withdrawn', tone: 'over' };
  }
}

const TONES = {
  running: 'good',
  frozen: 'bad',
  done: 'good',
  failed: 'bad',
  unknown: 'bad',
  'not-run': 'over',
} as const;

/** A call that was approved and did not run, or failed, is not announced as approved. */
function withOutcome(
  { status }: Pick<MessageContent, 'status'>,
  outcome: CallOutcome,
): Pick<MessageContent, 'status' | 'tone'> {
  const { state } = outcome;
  const text = outcomeText(outcome);
  const said = clip(`${text.slice(0, 1).toUpperCase()}${text.slice(1)}`, 300);
  if (state === 'not-run') return { status: said, tone: TONES[state] };
  const isGood = state === 'running' || state === 'done';
  return {
    status: isGood ? `${status}. ${said}` : `${said}${said.endsWith('.') ? '' : '.'} ${status}`,
    tone: TONES[state],
  };
}

/** Others are asked about the edited input instead. */
const PROPOSAL = { done: 'Changes proposed', verb: 'cancel' } as const;

function decisionOf(settlement: Notice['settlement']): { readonly verb: string; readonly done: string } {
  const { type: verb = 'cancel', edit } = (settlement?.decision ?? {}) as {
    readonly type?: string;
    readonly edit?: unknown;
  };
  const done = PAST[verb] ?? 'Decided';
  return { verb, done: edit === undefined ? done : `${done} with changes` };
}

/** Wide enough that the receiver breaks the lines. */
const WIDTH = 100_000;

function sectionsOf({ card, inputSchema = null }: Notice): readonly Section[] {
  if (!card) return [];
  return partsOf({ ...requestCard(card, undefined, false), inputSchema }).map(({ name, shown, schema }) => {
    const how = { schema, reads: readsAnywhere };
    const lines = valueLines('failed' in shown ? shown : shown.value, WIDTH, how);
    return { heading: PART_NAMES[name], lines: lines.length === 0 ? ['{}'] : lines };
  });
}
