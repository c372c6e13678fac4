// A request as lines of text: everything that the decision is about, safe to print.

import { styleText } from 'node:util';
import type { Json, JsonSchema } from 'countersign';
import type { Names } from 'countersign/request';
import { isRecord } from '../is-record.ts';
import type { ApiRequest } from '../schemas/request.ts';
import {
  badgesOf,
  type CardPart,
  commentsOf,
  HEADINGS,
  PART_NAMES,
  partsOf,
  payloadOf,
  votingOf,
} from './card-parts.ts';
import { ruleText } from './condition-text.ts';
import { recordedText } from './decision-text.ts';
import { durationText, roughDuration, timeText } from './moment.ts';
import { outcomeText } from './outcome-text.ts';
import { personLine } from './person-text.ts';
import { wrap } from './text-width.ts';
import { barred, valueLine, valueLines } from './value-text.ts';
import { visibleLine } from './visible-text.ts';

type Format = Parameters<typeof styleText>[0];

export function cardLines(card: ApiRequest, columns: number, now: number): readonly string[] {
  const lines = (texts: readonly string[], format?: Format) =>
    texts
      .flatMap((text) => wrap(text, columns, 2))
      .map((line) => (format === undefined ? line : styleText(format, line)));
  const agent = `Agent ${visibleLine(card.agent)}${card.startedBy === null ? '' : `, started by ${personLine(card.startedBy, card.names)}`}`;
  const voting = votingOf(card);
  const comments = commentsOf(card).flatMap(({ who, text }) => [`  ${who}`, ...barred(text, columns)]);
  return [
    ...lines([headline(card)], 'bold'),
    ...lines(smallPrint(card), 'dim'),
    ...lines([badgesOf(card).map(visibleLine).join(' · ')], card.risk === 'high' ? 'red' : 'yellow'),
    ...partsOf(card).flatMap((part) => partLines(part, card, columns, lines)),
    ...(voting ? ['', ...lines([voting.heading], 'underline')] : []),
    ...(voting?.lines ?? []).flatMap(({ text, look }) =>
      lines([look === 'vote' ? `  - ${text}` : `  ${text}`], LOOKS[look]),
    ),
    ...(comments.length === 0 ? [] : ['', ...lines(['Comments'], 'underline'), ...lines(comments)]),
    ...(card.decision ? ['', ...lines([decisionLine(card)], 'magenta')] : []),
    ...(card.status === 'pending' && !card.mayDecide
      ? ['', ...lines(['You can view this request but not decide it.'], 'red')]
      : []),
    '',
    ...lines([agent, `Run ${card.runId}`, ...timesOf(card, now)], 'dim'),
  ];
}

const LOOKS = { plain: undefined, vote: undefined, rule: 'dim', warning: 'red' } as const;

type Lines = (texts: readonly string[], format?: Format) => readonly string[];

function partLines(
  { name, shown, schema }: CardPart,
  { kind }: ApiRequest,
  columns: number,
  lines: Lines,
): readonly string[] {
  if (name === 'message' && 'value' in shown) return ['', ...lines(barred(String(shown.value), columns))];
  const heading = name === 'input' ? HEADINGS[kind] : (CHANGED[name] ?? PART_NAMES[name]);
  return [
    ...(name === 'previewNow' ? ['', ...lines(['What would happen has changed.'], 'red')] : []),
    '',
    ...lines([heading], name === 'untrusted' ? 'red' : 'underline'),
    ...('failed' in shown
      ? lines([`  Preview failed: ${visibleLine(shown.failed)}`], 'red')
      : name.startsWith('preview')
        ? previewRows(shown.value, columns)
        : lines(indented(shown.value, columns, schema))),
  ];
}

const CHANGED: { readonly [name: string]: string } = { previewNow: 'Now', previewBefore: 'Before' };

const indented = (value: Json, columns: number, schema?: JsonSchema | null): readonly string[] =>
  valueLines(value, columns - 2, { schema }).map((line) => `  ${line}`);

/** An array of objects has one entry for each. Its later lines are indented, so that none passes for another entry. */
function previewRows(value: Json, columns: number): readonly string[] {
  const isTable = Array.isArray(value) && value.length > 0 && value.every(isRecord);
  if (!isTable) return indented(value, columns);
  return (value as readonly Json[]).flatMap((row) => wrap(`  - ${valueLine(row)}`, columns, 6));
}

/** The title of a request; the name of its tool if it has none. */
export const headline = ({ title, earlierTitle, tool }: ApiRequest): string =>
  // A server of an earlier release does not say the earlier one.
  `${visibleLine(title ?? tool)}${typeof earlierTitle === 'string' ? ` (was: ${visibleLine(earlierTitle)})` : ''}`;

/** The name of the tool, unless that is the headline. */
export const smallPrint = ({ title, tool }: ApiRequest): readonly string[] =>
  title == null ? [] : [visibleLine(tool)];

/** As in `Pay €950 to ACME (pay)`. */
export const headlineAndTool = (card: ApiRequest): string =>
  [headline(card), ...smallPrint(card).map((tool) => `(${tool})`)].join(' ');

/** Summarizes a request on one line. */
export function cardSummary(card: ApiRequest): string {
  const { message } = payloadOf(card.payload);
  const { question } = (card.input ?? {}) as { readonly question?: unknown };
  if (card.kind === 'question' && typeof question === 'string') return visibleLine(question);
  const input = valueLine(card.input);
  return message === undefined ? input : `${input}  ${visibleLine(message)}`;
}

/** As in `4 min`. */
export const cardAge = (card: ApiRequest, now: number): string =>
  card.createdAt === null ? '' : roughDuration(now - card.createdAt);

/** As in `ann (inbox) at 2026-11-15 07:00:01: approved. failed: The bank refused.` */
export function decisionLine({ decision, outcome, names, grant, rule, observed }: ApiRequest): string {
  if (observed) {
    const ran = `ran unasked at ${timeText(observed.at)}; would have asked: ${observed.why.map(visibleLine).join('; ')}`;
    return [ran, outcomeText(outcome)].filter((text) => text !== '').join('. ');
  }
  if (grant?.is === 'used') return grantedLine(grant, outcome, names);
  if (rule) return cameOf(`allowed by the rule for ${ruleText(rule)}${timeOf(rule)}`, outcome);
  if (!decision) return '';
  const { by, at, channel, note, ...said } = decision;
  const edited = outcome?.state === 'not-run' && outcome.why === 'edited';
  const recorded = recordedText({ decision: edited ? { type: 'propose' } : said, by, at, channel, note }, names);
  return cameOf(recorded, outcome);
}

/** As in `allowed by the grant grant_1 of ann at 2026-11-15 07:00:01. done: paid.` */
function grantedLine(
  { id, by, at }: NonNullable<ApiRequest['grant']>,
  outcome: ApiRequest['outcome'],
  names?: Names,
): string {
  const giver = by === null ? '' : ` of ${personLine(by, names)}`;
  return cameOf(`allowed by the grant ${visibleLine(id)}${giver}${timeOf({ at })}`, outcome);
}

const timeOf = ({ at }: { readonly at: number | null }): string => (at === null ? '' : ` at ${timeText(at)}`);

function cameOf(line: string, outcome: ApiRequest['outcome']): string {
  const came = outcomeText(outcome);
  return came === '' ? line : `${line}. ${came}`;
}

function timesOf(card: ApiRequest, now: number): readonly string[] {
  const requested =
    card.createdAt === null ? [] : [`Requested ${timeText(card.createdAt)}, ${durationText(now - card.createdAt)} ago`];
  if (card.expiresAt === null || card.status === 'decided') return requested;
  const left = card.expiresAt - now;
  if (card.kind === 'recall')
    return [...requested, `Starts in ${durationText(Math.max(0, left))}, unless someone recalls it`];
  const outcome = `auto-${card.onExpiry === 'approve' ? 'approves' : card.onExpiry === 'cancel' ? 'cancels' : 'rejects'}`;
  return [...requested, left <= 0 ? `Expired: ${outcome} now` : `Expires in ${durationText(left)}, then ${outcome}`];
}
