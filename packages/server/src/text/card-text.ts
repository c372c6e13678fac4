// A request as lines of text: everything that the decision is about, safe to print.

import { styleText } from 'node:util';
import type { Json } from 'countersign';
import { type Preview, shownPolicy } from 'countersign/request';
import type { Interrupt } from '../schemas/interrupt.ts';
import { recordedText } from './decision-text.ts';
import { durationText, roughDuration, timeText } from './moment.ts';
import { wrap } from './text-width.ts';
import { barred, valueLine, valueLines } from './value-text.ts';
import { visibleLine } from './visible-text.ts';
import { ruleLines, voteLine, votesText } from './votes-text.ts';

type Format = Parameters<typeof styleText>[0];

export function cardLines(card: Interrupt, columns: number, now: number): readonly string[] {
  const { message, details } = payloadOf(card.payload);
  const labels = [
    ...(card.risk === null ? [] : [`${card.risk} risk`]),
    ...(card.reversibility ? [card.reversibility] : []),
    ...card.labels.map(visibleLine),
  ];
  const lines = (texts: readonly string[], format?: Format) =>
    texts
      .flatMap((text) => wrap(text, columns, 2))
      .map((line) => (format === undefined ? line : styleText(format, line)));
  const values = (value: Json) => lines(valueLines(value, columns - 2).map((line) => `  ${line}`));
  const agent = `Agent ${visibleLine(card.agent)}${card.startedBy === null ? '' : `, started by ${visibleLine(card.startedBy)}`}`;
  return [
    ...lines([headline(card)], 'bold'),
    ...lines(smallPrint(card), 'dim'),
    ...lines([[KINDS[card.kind], ...labels].join(' · ')], card.risk === 'high' ? 'red' : 'yellow'),
    ...(message === undefined ? [] : ['', ...lines(barred(message, columns))]),
    '',
    ...lines([HEADINGS[card.kind]], 'underline'),
    ...values(card.input),
    ...previewLines(card, columns, lines),
    ...(details === undefined ? [] : ['', ...lines(['Details'], 'underline'), ...values(details)]),
    ...votingSection(card, lines),
    ...(card.decision ? ['', ...lines([decisionLine(card)], 'magenta')] : []),
    ...(card.status === 'pending' && !card.mayDecide
      ? ['', ...lines(['You can view this request but not decide it.'], 'red')]
      : []),
    '',
    ...lines([agent, `Run ${card.runId}`, ...timesOf(card, now)], 'dim'),
  ];
}

/** Who must decide, and the votes so far. */
function votingSection(
  { policies, progress, status }: Interrupt,
  lines: (texts: readonly string[], format?: Format) => readonly string[],
): readonly string[] {
  const policy = shownPolicy(policies);
  if (!progress || (!policy && progress.assignedTo === null)) return [];
  const heading = policy?.name === undefined ? 'Who decides' : `Who decides (${visibleLine(policy.name)})`;
  const [rules, warnings] = [policy ? ruleLines(policy) : [], (policy?.warnings ?? []).map(visibleLine)];
  return [
    '',
    ...lines([heading], 'underline'),
    ...(policy && status === 'pending'
      ? lines([`  ${votesText({ ...progress, notRequester: policy.notRequester === true })}`])
      : []),
    ...lines(progress.votes.map((vote) => `  - ${voteLine(vote)}`)),
    ...(progress.round > 1 ? lines(['  The input was edited, so the votes given before do not count.']) : []),
    ...lines(
      rules.map((rule) => `  ${rule}`),
      'dim',
    ),
    ...(progress.assignedTo === null ? [] : lines([`  Assigned to ${visibleLine(progress.assignedTo)}`])),
    ...lines(
      warnings.map((warning) => `  Warning: ${warning}`),
      'red',
    ),
  ];
}

/** The preview of the tool, and the approved preview if it has changed. */
function previewLines(
  { preview, earlierPreview }: Interrupt,
  columns: number,
  lines: (texts: readonly string[], format?: Format) => readonly string[],
): readonly string[] {
  const section = (heading: string, shown: Preview) => [
    '',
    ...lines([heading], 'underline'),
    ...('failed' in shown
      ? lines([`  Preview failed: ${visibleLine(shown.failed)}`], 'red')
      : previewRows(shown.value, columns)),
  ];
  if (!preview) return [];
  if (!earlierPreview) return section('What would happen', preview);
  const changed = lines(['What would happen has changed.'], 'red');
  return ['', ...changed, ...section('Now', preview), ...section('Before', earlierPreview)];
}

/** An array of objects has one entry for each. Its later lines are indented, so that none passes for another entry. */
function previewRows(value: Json, columns: number): readonly string[] {
  const isTable = Array.isArray(value) && value.length > 0 && value.every((row) => isObject(row));
  if (!isTable) return valueLines(value, columns - 2).map((line) => `  ${line}`);
  return (value as readonly Json[]).flatMap((row) => wrap(`  - ${valueLine(row)}`, columns, 6));
}

const isObject = (value: Json): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The title of a request; the name of its tool if it has none. */
export const headline = ({ title, tool }: Interrupt): string => visibleLine(title ?? tool);

/** The name of the tool, unless that is the headline. */
export const smallPrint = ({ title, tool }: Interrupt): readonly string[] => (title == null ? [] : [visibleLine(tool)]);

/** As in `Pay €950 to ACME (pay)`. */
export const headlineAndTool = (card: Interrupt): string =>
  [headline(card), ...smallPrint(card).map((tool) => `(${tool})`)].join(' ');

/** Summarizes a request on one line. */
export function cardSummary(card: Interrupt): string {
  const { message } = payloadOf(card.payload);
  const { question } = (card.input ?? {}) as { readonly question?: unknown };
  if (card.kind === 'question' && typeof question === 'string') return visibleLine(question);
  const input = valueLine(card.input);
  return message === undefined ? input : `${input}  ${visibleLine(message)}`;
}

/** As in `4 min`. */
export const cardAge = (card: Interrupt, now: number): string =>
  card.createdAt === null ? '' : roughDuration(now - card.createdAt);

export function decisionLine({ decision }: Interrupt): string {
  if (!decision) return '';
  const { by, at, channel, note, ...said } = decision;
  return recordedText({ decision: said, by, at, channel, note });
}

export const KINDS = {
  approval: 'Needs approval',
  question: 'Question',
  interrupt: 'Needs input',
  'unknown-outcome': 'Started, but its outcome is unknown',
  unavailable: 'Approved, but the tool is gone or no longer accepts its input',
} as const;

export const HEADINGS = {
  approval: 'Input it would run with',
  question: 'Question',
  interrupt: 'Input',
  'unknown-outcome': 'Input it was started with',
  unavailable: 'Input it would have run with',
} as const;

function timesOf(card: Interrupt, now: number): readonly string[] {
  const requested =
    card.createdAt === null ? [] : [`Requested ${timeText(card.createdAt)}, ${durationText(now - card.createdAt)} ago`];
  if (card.expiresAt === null || card.status === 'decided') return requested;
  const left = card.expiresAt - now;
  const outcome = `auto-${card.onExpiry === 'approve' ? 'approves' : card.onExpiry === 'cancel' ? 'cancels' : 'rejects'}`;
  return [...requested, left <= 0 ? `Expired: ${outcome} now` : `Expires in ${durationText(left)}, then ${outcome}`];
}

/** These are shown on separate lines. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'risk',
  'reversibility',
  'labels',
  'expiresIn',
  'onExpiry',
  'remindAfter',
]);

function payloadOf(payload: Json): { readonly message?: string; readonly details?: Json } {
  if (payload === true || payload === null) return {};
  if (typeof payload === 'string') return { message: payload };
  if (typeof payload !== 'object' || Array.isArray(payload)) return { details: payload };
  const { message } = payload as { readonly message?: Json };
  const details = Object.fromEntries(
    Object.entries(payload).filter(
      ([key, value]) =>
        !SHOWN_ELSEWHERE.has(key) && !(key === 'message' && (typeof value === 'string' || value === null)),
    ),
  );
  return {
    ...(typeof message === 'string' && { message }),
    ...(Object.keys(details).length > 0 && { details }),
  };
}
