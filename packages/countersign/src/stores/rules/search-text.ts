// The text of a request that a search looks in, and the words that it looks for: the same in every store.

import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import { shownAgent } from '../../core/run/drill.ts';
import type { RequestRecord } from '../../runs/port/store.ts';

const LONGEST_SEARCH = 500;
/** Longer texts are searched only up to here. */
const LONGEST_TEXT = 10_000;

/** Splits a search into lowercase words. All of them must occur in the text. */
export function searchWords(search: string | undefined): readonly string[] {
  if (search === undefined) return [];
  if (typeof search !== 'string' || search.length > LONGEST_SEARCH) {
    throw new UsageError('invalid-options', {}, `A search must be a string of at most ${LONGEST_SEARCH} characters.`);
  }
  return [...new Set(normalized(search).split(' '))].filter((word) => word !== '');
}

/** The tool, the agent, the labels, the title, and every string and number in the input and in the payload shown to the approver. */
export function searchTextOf({
  agent,
  tool,
  labels,
  card,
}: Pick<RequestRecord, 'agent' | 'tool' | 'labels' | 'card'>): string {
  const texts = [tool, shownAgent(agent), ...labels];
  let length = 0;
  const pending = [
    at(card, 'part', 'metadata', 'interrupt'),
    at(card, 'part', 'toolRequest', 'input'),
    at(card, 'part', 'metadata', 'title'),
  ];
  while (pending.length > 0 && length < LONGEST_TEXT) {
    const value = pending.pop();
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).slice(0, LONGEST_TEXT);
      texts.push(text);
      length += text.length;
    } else if (typeof value === 'object' && value !== null)
      // One by one: a list may have more items than a call takes arguments.
      for (const item of Object.values(value).reverse()) pending.push(item);
  }
  return normalized(texts.join(' ').slice(0, LONGEST_TEXT));
}

/** In lowercase, on one line, and without characters that PostgreSQL cannot store. */
function normalized(text: string): string {
  return text
    .toLowerCase()
    .toWellFormed()
    .replaceAll(/[\s\0]+/g, ' ')
    .trim();
}

function at(value: Json, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (inner, key) => (isObject(inner) && Object.hasOwn(inner, key) ? (inner[key] as Json) : undefined),
    value,
  );
}
