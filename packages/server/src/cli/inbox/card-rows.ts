// A card as rows of text: everything that the decision is about, made safe to show.
import type { Json } from 'countersign';
import { recordedText } from '../decision-text.ts';
import type { DeskCard } from '../desk.ts';
import { durationText, roughDuration, timeText } from '../moment.ts';
import { wrap } from '../text-width.ts';
import { valueLine, valueLines } from '../value-text.ts';
import { visibleLine, visibleText } from '../visible-text.ts';
import type { Row } from './frame.ts';
import { claimOn, othersClaim } from './holding.ts';

export function cardRows(card: DeskCard, columns: number, now: number, person?: string): readonly Row[] {
  const width = columns - 2;
  const text = (lines: readonly string[], format?: Row['format']): readonly Row[] =>
    lines.flatMap((line) => wrap(line, width)).map((line) => ({ text: ` ${line}`, ...(format && { format }) }));
  const { message, rest } = payloadOf(card.payload);
  const labels = [...(card.risk === null ? [] : [`${card.risk} risk`]), ...card.labels.map(visibleLine)];
  const agent = `agent ${visibleLine(card.agent)}${card.startedBy === null ? '' : `, for ${visibleLine(card.startedBy)}`}`;
  const gap: Row = { text: '' };
  // What is decided about comes first: on a small screen the rest may be out of view.
  return [
    ...text([visibleLine(card.tool)], 'bold'),
    ...text([[KINDS[card.kind], ...labels].join(' · ')], card.risk === 'high' ? 'red' : 'yellow'),
    ...(message === undefined ? [] : [gap, ...text(message)]),
    gap,
    ...text([HEADINGS[card.kind]], 'underline'),
    ...text(indented(valueLines(card.input))),
    ...(rest === undefined ? [] : [gap, ...text(['With it'], 'underline'), ...text(indented(valueLines(rest)))]),
    ...(card.decision ? [gap, ...text([decidedText(card)], 'magenta')] : []),
    ...(card.status === 'pending' && !card.mayDecide ? [gap, ...text(['You may not decide this.'], 'red')] : []),
    gap,
    ...text([agent, `run   ${card.runId}`, ...timesOf(card, now)], 'dim'),
    ...text(claimText(card, person, now), 'cyan'),
  ];
}

/** What a card is about, on one line of a list. */
export function cardSummary(card: DeskCard): string {
  const { message } = payloadOf(card.payload);
  const { question } = (card.input ?? {}) as { readonly question?: unknown };
  if (card.kind === 'question' && typeof question === 'string') return visibleLine(question);
  const input = valueLine(card.input);
  return message === undefined ? input : `${input}  ${visibleLine(message.join(' '))}`;
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

function claimText(card: DeskCard, person: string | undefined, now: number): readonly string[] {
  const others = othersClaim(card, person, now);
  if (others !== undefined) return [others];
  return claimOn(card, now) === null ? [] : ['you work on it'];
}

/** A card has these for itself. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set(['risk', 'labels', 'expiresIn', 'onExpiry', 'remindAfter']);

function payloadOf(payload: Json): { readonly message?: readonly string[]; readonly rest?: Json } {
  if (payload === true || payload === null) return {};
  if (typeof payload === 'string') return { message: visibleText(payload).split('\n') };
  if (typeof payload !== 'object' || Array.isArray(payload)) return { rest: payload };
  const shown = Object.entries(payload).filter(([key]) => !(key === 'message' || SAID_ELSEWHERE.has(key)));
  const message = (payload as { readonly [key: string]: Json }).message ?? null;
  const others: { readonly [key: string]: Json } = {
    ...(message !== null && typeof message !== 'string' && { message }),
    ...Object.fromEntries(shown),
  };
  return {
    ...(typeof message === 'string' && { message: visibleText(message).split('\n') }),
    ...(Object.keys(others).length > 0 && { rest: others }),
  };
}

function decidedText({ decision }: DeskCard): string {
  if (!decision) return '';
  const { by, at, channel, note, ...said } = decision;
  return `Decided. ${recordedText({ decision: said, by, at, channel, note })}`;
}

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);
