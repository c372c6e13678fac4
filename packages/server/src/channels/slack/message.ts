// A notice as a message in Slack. What does not fit is left out, with the buttons that decide it.

import type { Json, Notice, RunRequest } from 'countersign';
import { personText, shownPolicy } from 'countersign/request';
import { type Allowed, requestCard } from 'countersign/ui';
import { visibleLine } from '../../text/visible-text.ts';
import { ruleLines, votesText } from '../../text/votes-text.ts';
import { fitted, type MessageContent, outlineContent } from '../webhook/message-content.ts';
import {
  type Block,
  button,
  code,
  escaped,
  heading,
  linkButton,
  MOST_IN_TEXT,
  markup,
  plain,
  section,
} from './blocks.ts';
import { targetText } from './target.ts';

export type Message = {
  /** What notifications show. */
  readonly text: string;
  readonly blocks: readonly Block[];
};

/** Everything that an approver sees, and the buttons that the request allows; once it is over, only how. */
export const messageOf = (notice: Notice): Message => fitted(notice, (content) => compose(content, notice), fits);

/** Only what the request is about, with a link. */
export const outlineOf = (notice: Notice): Message =>
  fitted(
    notice,
    (content) => compose(content, notice),
    () => false,
  );

/** A reply to the message about the request, which has the buttons. */
export function replyOf(notice: Notice): Message {
  const { text } = messageOf(notice);
  return { text, blocks: [section({ ...plain(''), text })] };
}

/** The titles of several requests, with links. They are decided one by one, or in the inbox. */
export function digestOf(notices: readonly Notice[]): Message {
  const listed = notices.slice(0, MOST_LISTED);
  const more = notices.length - listed.length;
  const text = escaped(`News about ${notices.length} requests`);
  const lines = listed.map((notice) => section(markup(digestLine(notice))));
  return {
    text,
    blocks: [heading(text), ...lines, ...(more > 0 ? [section(plain(`And ${more} more, in the inbox.`))] : [])],
  };
}

const MOST_LISTED = 20;

function digestLine(notice: Notice): string {
  const { status, title } = outlineContent(notice);
  const link = notice.links?.request;
  const name = escaped(title);
  return `${escaped(status)}: ${link === undefined ? name : `<${escaped(link)}|${name}>`}`;
}

/** Slack takes 50 blocks, and refuses messages with more than about 13,000 characters in them. */
const MOST_BLOCKS = 50;
const MOST_CHARACTERS = 12_000;
const MOST_IN_FIELD = 2_000;

function fits({ blocks }: Message): boolean {
  const isLong = ({ text, fields = [] }: Block): boolean =>
    lengthOf(text) > MOST_IN_TEXT || (fields as readonly Block[]).some((field) => lengthOf(field) > MOST_IN_FIELD);
  return blocks.length <= MOST_BLOCKS && !blocks.some(isLong) && JSON.stringify(blocks).length <= MOST_CHARACTERS;
}

const lengthOf = (text: Json | undefined): number => String((text as Block | undefined)?.text ?? '').length;

function compose(content: MessageContent, notice: Notice): Message {
  const { status, title, source, sections, isWhole } = content;
  const facts = isWhole ? factsOf(notice) : [];
  const elements = [...(isWhole ? decisionButtons(notice) : []), ...linkButtons(notice)];
  return {
    text: escaped(`${status}: ${title}`),
    blocks: [
      heading(title),
      section(plain(status)),
      ...(facts.length === 0 ? [] : [{ type: 'section', fields: facts }]),
      ...sections.flatMap(({ heading: caption, lines }) => code(caption, lines)),
      ...(isWhole ? remarksOf(notice) : []),
      { type: 'context', elements: [plain(source)] },
      ...(elements.length === 0 ? [] : [{ type: 'actions', elements }]),
    ],
  };
}

const REVERSIBILITY = {
  'read-only': 'Changes nothing',
  reversible: 'Can be undone',
  /** Its tool has no `undo`. */
  claimed: 'Can be undone, its tool says',
  irreversible: 'Cannot be undone',
} as const;

const ON_EXPIRY = { approve: 'then approved', reject: 'then rejected', cancel: 'then cancelled' } as const;

/** The risk, the deadline, and who else must agree. */
function factsOf({ card, risk, expiresAt, settlement, names }: Notice): readonly Block[] {
  if (settlement) return [];
  const {
    onExpiry = null,
    policies,
    progress = null,
    labels = [],
    reversibility = null,
    hasUndo,
  } = card ? seen(card) : {};
  const policy = policies ? shownPolicy(policies) : null;
  const ending = onExpiry === null ? '' : `, ${ON_EXPIRY[onExpiry]} automatically`;
  const votes = policy && progress && votesText({ ...progress, notRequester: policy.notRequester === true, names });
  return [
    ...(risk === null ? [] : [fact('Risk', risk)]),
    ...(reversibility === null
      ? []
      : [fact('Effect', REVERSIBILITY[reversibility === 'reversible' && !hasUndo ? 'claimed' : reversibility])]),
    ...(expiresAt === null ? [] : [markup(`*Decide by*\n${dateOf(expiresAt)}${ending}`)]),
    ...(votes === null ? [] : [fact('Who decides', votes)]),
    ...(policy && ruleLines(policy).length > 0 ? [fact('Rules', ruleLines(policy).join(' '))] : []),
    ...(progress?.assignedTo ? [fact('Assigned to', personText(progress.assignedTo, names))] : []),
    ...(card?.startedBy ? [fact('Started by', personText(card.startedBy, names))] : []),
    ...(labels.length === 0 ? [] : [fact('Labels', labels.join(', '))]),
  ];
}

const fact = (name: string, text: string): Block => markup(`*${name}*\n${escaped(visibleLine(text))}`);

/** In the time zone of the reader. Programs that cannot show it show the time in UTC. */
function dateOf(at: number): string {
  const iso = new Date(at)
    .toISOString()
    .replace(/\.\d+Z/, ' UTC')
    .replace('T', ' ');
  return `<!date^${Math.floor(at / 1_000)}^{date_short_pretty} {time}|${iso}>`;
}

const seen = (card: RunRequest) => requestCard(card, undefined, true);

/** The reason and the note of a decision. The input that ran instead is on the page. */
function remarksOf({ card, settlement }: Notice): readonly Block[] {
  if (!card || !settlement) return [];
  const { reason, comment } = (settlement.decision ?? {}) as { readonly reason?: string; readonly comment?: string };
  const { note } = settlement as { readonly note?: string | null };
  return [
    ...(reason ? [section(plain(`Reason: ${reason}`))] : []),
    ...(comment ? [section(plain(`Changes: ${comment}`))] : []),
    ...(note ? [section(plain(`Note: ${note}`))] : []),
  ];
}

/** What is decided in Slack. Whether a call happened, and whether it can start again, is decided where all of it can be seen. */
const KINDS: ReadonlySet<RunRequest['kind']> = new Set(['approval', 'question', 'interrupt', 'unavailable']);

const CONFIRM = {
  title: plain('Approve this request?'),
  text: plain('The tool runs once, with exactly the input that this message shows.'),
  confirm: plain('Approve'),
  deny: plain('Cancel'),
};

function decisionButtons({ card, settlement }: Notice): readonly Block[] {
  if (!card || settlement || card.policies.some(({ signed }) => signed) || !KINDS.has(card.kind)) return [];
  const allows = new Set<Allowed>(seen(card).allows);
  const value = targetText({ requestId: card.id, digest: card.digest });
  return [
    ...(allows.has('respond') ? [button({ id: 'respond', label: 'Answer', style: 'primary' }, value)] : []),
    ...(allows.has('approve')
      ? [{ ...button({ id: 'approve', label: 'Approve', style: 'primary' }, value), confirm: CONFIRM }]
      : []),
    ...(allows.has('edit') ? [button({ id: 'edit', label: 'Edit' }, value)] : []),
    ...(allows.has('revise') ? [button({ id: 'revise', label: 'Ask for changes' }, value)] : []),
    ...(allows.has('reject') ? [button({ id: 'reject', label: 'Reject', style: 'danger' }, value)] : []),
  ];
}

function linkButtons({ links, settlement }: Notice): readonly Block[] {
  if (!links) return [];
  return [linkButton('Open request', settlement ? links.request : (links.decide ?? links.request))];
}
