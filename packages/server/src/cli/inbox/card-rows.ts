// A card as rows of text: everything that the decision is about, made safe to show.
import type { Json } from 'countersign';
import type { DeskCard } from '../desk/desk.ts';
import { recordedText } from '../print/decision-text.ts';
import { durationText, roughDuration, timeText } from '../print/moment.ts';
import { wrap } from '../print/text-width.ts';
import { barred, valueLine, valueLines } from '../print/value-text.ts';
import { visibleLine } from '../print/visible-text.ts';
import type { Row } from './frame.ts';
import { holdOn, othersHold } from './holding.ts';

export function cardRows(card: DeskCard, columns: number, now: number, person?: string): readonly Row[] {
  const labels = [...(card.risk === null ? [] : [`${card.risk} risk`]), ...card.labels.map(visibleLine)];
  const agent = `agent ${visibleLine(card.agent)}${card.startedBy === null ? '' : `, for ${visibleLine(card.startedBy)}`}`;
  const text = (lines: readonly string[], format?: Row['format']) => textRows(lines, columns, format);
  // What is decided about comes first: on a small screen the rest may be out of view.
  return [
    ...text([visibleLine(card.tool)], 'bold'),
    ...text([[KINDS[card.kind], ...labels].join(' · ')], card.risk === 'high' ? 'red' : 'yellow'),
    ...contentRows(card, columns),
    ...(card.decision ? [GAP, ...text([decidedText(card)], 'magenta')] : []),
    ...(card.status === 'pending' && !card.mayDecide ? [GAP, ...text(['You may not decide this.'], 'red')] : []),
    GAP,
    ...text([agent, `run   ${card.runId}`, ...timesOf(card, now)], 'dim'),
    ...text(holdText(card, person, now), 'cyan'),
  ];
}

const GAP: Row = { text: '' };

/** A card is drawn again with each key and each second, and what it is about may be long. */
let last: { readonly card: DeskCard; readonly columns: number; readonly rows: readonly Row[] } | undefined;

function contentRows(card: DeskCard, columns: number): readonly Row[] {
  const isSame = last?.columns === columns && last.card.input === card.input && last.card.payload === card.payload;
  if (last && isSame && last.card.kind === card.kind) return last.rows;
  const { message, rest } = payloadOf(card.payload);
  const text = (lines: readonly string[], format?: Row['format']) => textRows(lines, columns, format);
  const values = (value: Json) => valueLines(value, columns - 4).map((line) => `  ${line}`);
  const rows = [
    ...(message === undefined ? [] : [GAP, ...text(barred(message, columns - 2))]),
    GAP,
    ...text([HEADINGS[card.kind]], 'underline'),
    ...text(values(card.input)),
    ...(rest === undefined ? [] : [GAP, ...text(['With it'], 'underline'), ...text(values(rest))]),
  ];
  last = { card, columns, rows };
  return rows;
}

const textRows = (lines: readonly string[], columns: number, format?: Row['format']): readonly Row[] =>
  lines
    .flatMap((line) => wrap(line, columns - 2, 2))
    .map((line) => ({ text: ` ${line}`, ...(format !== undefined && { format }) }));

/** What a card is about, on one line of a list. */
export function cardSummary(card: DeskCard): string {
  const { message } = payloadOf(card.payload);
  const { question } = (card.input ?? {}) as { readonly question?: unknown };
  if (card.kind === 'question' && typeof question === 'string') return visibleLine(question);
  const input = valueLine(card.input);
  return message === undefined ? input : `${input}  ${visibleLine(message)}`;
}

/** As in `4 min`. */
export const cardAge = (card: DeskCard, now: number): string =>
  card.createdAt === null ? '' : roughDuration(now - card.createdAt);

const KINDS = {
  approval: 'asks for approval',
  question: 'asks a question',
  interrupt: 'stopped to ask',
  'unknown-outcome': 'was started, and nobody knows how it ended',
  unavailable: 'was approved, but is gone or does not take its input any more',
} as const;

const HEADINGS = {
  approval: 'It would run with',
  question: 'It asks',
  interrupt: 'It runs with',
  'unknown-outcome': 'It was started with',
  unavailable: 'It would have run with',
} as const;

function timesOf(card: DeskCard, now: number): readonly string[] {
  const asked =
    card.createdAt === null ? [] : [`asked ${timeText(card.createdAt)}, ${durationText(now - card.createdAt)} ago`];
  if (card.expiresAt === null || card.status === 'decided') return asked;
  const left = card.expiresAt - now;
  const then = card.onExpiry === 'approve' ? 'approved' : card.onExpiry === 'cancel' ? 'cancelled' : 'rejected';
  return [...asked, left <= 0 ? `its time is over: it is ${then}` : `in ${durationText(left)} it is ${then}`];
}

function holdText(card: DeskCard, person: string | undefined, now: number): readonly string[] {
  const others = othersHold(card, person, now);
  if (others !== undefined) return [others];
  return holdOn(card, now) === null ? [] : ['you work on it'];
}

/** A card has these for itself. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set(['risk', 'labels', 'expiresIn', 'onExpiry', 'remindAfter']);

function payloadOf(payload: Json): { readonly message?: string; readonly rest?: Json } {
  if (payload === true || payload === null) return {};
  if (typeof payload === 'string') return { message: payload };
  if (typeof payload !== 'object' || Array.isArray(payload)) return { rest: payload };
  const shown = Object.entries(payload).filter(([key]) => !(key === 'message' || SAID_ELSEWHERE.has(key)));
  const message = (payload as { readonly [key: string]: Json }).message ?? null;
  const others: { readonly [key: string]: Json } = {
    ...(message !== null && typeof message !== 'string' && { message }),
    ...Object.fromEntries(shown),
  };
  return {
    ...(typeof message === 'string' && { message }),
    ...(Object.keys(others).length > 0 && { rest: others }),
  };
}

function decidedText({ decision }: DeskCard): string {
  if (!decision) return '';
  const { by, at, channel, note, ...said } = decision;
  return `Decided. ${recordedText({ decision: said, by, at, channel, note })}`;
}
