// The card of a request and the decision on it as plain text, whole and inert, for the person who confirms it.
import { stripVTControlCharacters } from 'node:util';
import { filesOn } from '../preview-files.ts';
import type { ApiRequest } from '../schemas/request.ts';
import { cardLines } from '../text/card-text.ts';
import { valueLines } from '../text/value-text.ts';
import { visibleText } from '../text/visible-text.ts';

/** What the model says that the person decides. */
export type Wanted = {
  readonly decision: 'approve' | 'reject' | 'revise' | 'edit' | 'answer';
  readonly reason?: string | undefined;
  readonly input?: unknown;
  readonly answer?: unknown;
  readonly note?: string | undefined;
};

const COLUMNS = 100;
/** Longer requests are not confirmed here: clients may shorten a long message. */
const MOST_CHARACTERS = 8_000;
const MOST_LEVELS = 8;

/** The text that a person confirms; undefined if it is too long or too deeply nested to be shown whole. */
export function decisionCard(card: ApiRequest, wanted: Wanted): string | undefined {
  const shown = [
    card.input,
    card.payload,
    card.preview,
    card.earlierPreview,
    card.previous?.input,
    wanted.input,
    wanted.answer,
  ];
  // A text cannot show files.
  if (shown.some((value) => levels(value) > MOST_LEVELS) || filesOn(card).length > 0) return undefined;
  const text = [
    HEADLINES[wanted.decision],
    '',
    ...cardLines(card, COLUMNS, Date.now()),
    ...(wanted.decision === 'edit'
      ? ['', 'It runs with this input instead:', ...valueLines(wanted.input, COLUMNS, { schema: card.inputSchema })]
      : []),
    ...(wanted.decision === 'answer' ? ['', 'The answer:', ...valueLines(wanted.answer, COLUMNS)] : []),
    ...(wanted.reason === undefined
      ? []
      : ['', `${wanted.decision === 'revise' ? 'Changes' : 'Reason'}: ${visibleText(wanted.reason)}`]),
    ...(wanted.note === undefined ? [] : ['', `Note: ${visibleText(wanted.note)}`]),
  ].join('\n');
  const plain = stripVTControlCharacters(text);
  return plain.length > MOST_CHARACTERS ? undefined : plain;
}

export const HEADLINES: Readonly<Record<Wanted['decision'], string>> = {
  approve: 'Approve this request?',
  reject: 'Reject this request?',
  revise: 'Ask for changes to this request?',
  edit: 'Approve this request with another input?',
  answer: 'Answer this request?',
};

function levels(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, inner) => Math.max(most, levels(inner)), 0);
}
