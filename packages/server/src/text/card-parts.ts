// What a request says, part by part. The terminal, mails, chats and the pages of links write the same parts, each in its own markup.
import type { Json, JsonSchema } from 'countersign';
import { isAlarming, type Origins, originText, type Preview, shownPolicy } from 'countersign/request';
import type { RequestCard } from 'countersign/ui';
import { isRecord } from '../is-record.ts';
import { timeText } from './moment.ts';
import { personLine } from './person-text.ts';
import { visibleLine } from './visible-text.ts';
import { ruleLines, voteLine, votesText } from './votes-text.ts';

/** A whole value, or why it could not be computed. `schema` has the labels of its fields. */
export type CardPart = { readonly name: PartName; readonly shown: Preview; readonly schema?: JsonSchema | null };

type PartName =
  | 'untrusted'
  | 'origins'
  | 'files'
  | 'reason'
  | 'message'
  | 'doubt'
  | 'reviews'
  | 'input'
  | 'details'
  | 'preview'
  | 'previewNow'
  | 'previewBefore'
  | 'changesAsked'
  | 'inputBefore';

/** The names of the parts for people. */
export const PART_NAMES: Readonly<Record<PartName, string>> = {
  untrusted: 'Warning: look where this comes from',
  origins: 'Where the values come from',
  reason: 'The agent says',
  files: 'Files, which the inbox shows',
  message: 'Message',
  doubt: 'Look before you decide',
  reviews: 'Second opinion (advice)',
  input: 'Input',
  details: 'Details',
  preview: 'What would happen',
  previewNow: 'What would happen now',
  previewBefore: 'What was approved before',
  changesAsked: 'Changes asked for',
  inputBefore: 'Input of the round before',
};

/** In the order in which people read them: what the tool says, what runs, and what else the tool shows. `time` writes times. */
export function partsOf(shown: Shown, time: (at: number) => string = timeText): readonly CardPart[] {
  const { payload, agentReason, input, inputSchema, preview, earlierPreview, names } = shown;
  const { doubt, previous, reviews, origins = [] } = shown;
  const { message, details } = payloadOf(payload);
  const part = (name: PartName, value: Json): CardPart => ({ name, shown: { value } });
  const [alarming, quiet] = [origins.filter(isAlarming), origins.filter((origin) => !isAlarming(origin))];
  return [
    ...(alarming.length > 0 ? [part('untrusted', originTexts(alarming))] : []),
    ...(message === undefined ? [] : [part('message', message)]),
    // A server of an older version does not send it.
    ...(agentReason ? [part('reason', agentReason)] : []),
    ...(doubt ? [part('doubt', doubtText(doubt, names, time))] : []),
    ...(reviews && reviews.length > 0 ? [part('reviews', reviews.flatMap(reviewLines).join('\n'))] : []),
    ...(previous ? [part('changesAsked', askedText(previous, names))] : []),
    { ...part('input', input), schema: inputSchema },
    ...(previous ? [{ ...part('inputBefore', previous.input), schema: inputSchema }] : []),
    ...(quiet.length > 0 ? [part('origins', originTexts(quiet))] : []),
    ...(details === undefined ? [] : [part('details', details)]),
    ...(preview ? [{ name: earlierPreview ? 'previewNow' : 'preview', shown: preview } as const] : []),
    ...filesPart(preview),
    ...(preview && earlierPreview ? [{ name: 'previewBefore', shown: earlierPreview } as const] : []),
  ];
}

/** One line for each field, such as `iban: from an untrusted source: the result of readMail`. */
const originTexts = (origins: Origins): Json =>
  Object.fromEntries(origins.map((origin) => [origin.field.join('.') || 'other values', originText(origin)]));

/** As in `ben: Only what is open.` */
const askedText = ({ by, comment }: Previous, names: RequestCard['names']): string =>
  by === undefined ? comment : `${personLine(by, names)}: ${comment}`;

type Previous = NonNullable<RequestCard['previous']>;

type Review = NonNullable<RequestCard['reviews']>[number];

/** As in `Warning: This payee is new. (to)`. */
function reviewLines({ step, findings, failed, required, stricter }: Review): readonly string[] {
  const about = step === undefined ? '' : `Step ${step}: `;
  const lines = findings.map(({ level, text, field }) => {
    const where = field === undefined ? '' : ` (${field})`;
    return `${about}${level === 'warning' ? 'Warning: ' : ''}${text}${where}`;
  });
  if (failed !== undefined)
    lines.push(`${about}The review failed: ${failed}.${required ? ' Nobody can approve without it.' : ''}`);
  if (stricter) lines.push(`${about}More people decide because of this review.`);
  return lines.length > 0 ? lines : [`${about}Nothing found.`];
}

/** Texts cannot show a file: they say that there is one. */
function filesPart(preview: Preview | null): readonly CardPart[] {
  const files = preview && 'files' in preview ? (preview.files ?? []) : [];
  if (files.length === 0) return [];
  const about = files.map(({ name, mediaType, size }) => `${name}, ${mediaType}, ${size} bytes`);
  return [{ name: 'files', shown: { value: about.join('\n') } }];
}

/** What the record knows of a call whose outcome is unknown. A server of an older version does not say it. */
function doubtText(
  { startedAt, approvedBy, grantId, idempotencyKey, howToCheck }: Doubt,
  names: RequestCard['names'],
  time: (at: number) => string,
): Json {
  return {
    ...(howToCheck !== undefined && { check: howToCheck }),
    ...(startedAt !== undefined && { started: time(startedAt) }),
    ...(approvedBy && { approvers: approvedBy.map((person) => personLine(person, names)).join(', ') }),
    ...(grantId !== undefined && { grant: grantId }),
    key: idempotencyKey,
  };
}

type Doubt = NonNullable<RequestCard['doubt']>;

type Shown = Pick<RequestCard, 'payload' | 'agentReason' | 'input' | 'inputSchema' | 'preview' | 'earlierPreview'> & {
  readonly doubt?: Doubt | null;
  /** A server of an older version does not send it. */
  readonly previous?: Previous | null;
  readonly reviews?: readonly Review[];
  readonly origins?: Origins;
  readonly names?: RequestCard['names'];
};

/** These are shown as badges and facts. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'risk',
  'reversibility',
  'labels',
  'expiresIn',
  'onExpiry',
  'remindAfter',
]);

export function payloadOf(payload: Json | undefined): { readonly message?: string; readonly details?: Json } {
  if (payload === true || payload === null || payload === undefined || payload === '') return {};
  if (typeof payload === 'string') return { message: payload };
  if (!isRecord(payload)) return { details: payload };
  const { message, ...others } = payload as { readonly [key: string]: Json };
  const isText = typeof message === 'string' || message === null || message === undefined;
  const rest = Object.entries(isText ? others : payload).filter(([key]) => !SHOWN_ELSEWHERE.has(key));
  return {
    ...(typeof message === 'string' && message !== '' && { message }),
    ...(rest.length > 0 && { details: Object.fromEntries(rest) as Json }),
  };
}

/** What people say about it. `who` is as in `ben at 2026-11-15 07:00:01`; the text is as it was written. */
export const commentsOf = (
  { progress, names }: Pick<RequestCard, 'progress' | 'names'>,
  time: (at: number) => string = timeText,
): readonly { readonly who: string; readonly text: string }[] =>
  (progress?.comments ?? []).map(({ by, text, at }) => ({
    who: at === null ? personLine(by, names) : `${personLine(by, names)} at ${time(at)}`,
    text,
  }));

export type VotingLine = { readonly text: string; readonly look: 'vote' | 'rule' | 'warning' | 'plain' };

/** Who must decide, and the votes so far; undefined if there is nothing to say. `time` writes the times of votes. */
export function votingOf(
  { policies, progress, status, names }: Pick<RequestCard, 'policies' | 'progress' | 'status' | 'names'>,
  time: (at: number) => string = timeText,
): { readonly heading: string; readonly lines: readonly VotingLine[] } | undefined {
  const policy = shownPolicy(policies);
  const { votes = [], round = 1, assignedTo = null } = progress ?? {};
  if (!policy && assignedTo === null) return undefined;
  const line = (text: string, look: VotingLine['look'] = 'plain'): VotingLine => ({ text, look });
  const counted = progress && policy && { ...progress, notRequester: policy.notRequester === true, names };
  return {
    heading: policy?.name === undefined ? 'Who decides' : `Who decides (${visibleLine(policy.name)})`,
    lines: [
      ...(counted && status === 'pending' ? [line(votesText(counted))] : []),
      ...votes.map((vote) => line(voteLine(vote, time, names), 'vote')),
      ...(round > 1 ? [line('The input was edited, so the votes given before do not count.')] : []),
      ...(policy ? ruleLines(policy).map((text) => line(text, 'rule')) : []),
      ...(assignedTo === null ? [] : [line(`Assigned to ${personLine(assignedTo, names)}`)]),
      ...(policy?.warnings ?? []).map((text) => line(`Warning: ${visibleLine(text)}`, 'warning')),
    ],
  };
}

/** What it is, how risky, and its labels. Untrusted: escape it. */
export const badgesOf = ({ kind, risk, reversibility, hasUndo, labels, previous }: Badged): readonly string[] => [
  KINDS[kind],
  ...(previous ? [`round ${previous.round + 1}`] : []),
  ...(risk === null ? [] : [`${risk} risk`]),
  // A server of an older version does not say it.
  ...(reversibility ? [reversibility === 'reversible' ? UNDO[`${hasUndo ?? false}`] : reversibility] : []),
  ...labels,
];

type Badged = Pick<RequestCard, 'kind' | 'risk' | 'reversibility' | 'labels'> &
  Partial<Pick<RequestCard, 'previous' | 'hasUndo'>>;

/** Without `undo`, the tool only says so. */
const UNDO = { true: 'can be undone', false: 'can be undone, its tool says' };

const KINDS = {
  approval: 'Needs approval',
  question: 'Question',
  interrupt: 'Needs input',
  doubt: 'Started, but its outcome is unknown',
  unavailable: 'Approved, but the tool is gone or no longer accepts its input',
  recall: 'Approved, waits to start',
} as const;

/** The heading of the input. */
export const HEADINGS = {
  approval: 'Input it would run with',
  question: 'Question',
  interrupt: 'Input',
  doubt: 'Input it was started with',
  unavailable: 'Input it would have run with',
  recall: 'Input it will run with',
} as const;
