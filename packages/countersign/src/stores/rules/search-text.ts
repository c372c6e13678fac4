// The words of questions, and of what somebody searches for: what one store finds the others find.
import { UsageError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { InterruptQuery, InterruptRecord } from '../../runs/port/store.ts';

/** What words are looked for in. */
export type Searched = Pick<InterruptRecord, 'agent' | 'tool' | 'labels' | 'card'>;

/** How long a search may be. */
const MOST_CHARACTERS = 500;

/** The words of a search, each once; none if nothing is searched for. */
export function searchWords(search: string | undefined): readonly string[] {
  if (search === undefined) return [];
  if (typeof search === 'string' && search.length <= MOST_CHARACTERS) return [...new Set(wordsIn(search))];
  throw new UsageError('invalid-options', {}, `A search is a text of at most ${MOST_CHARACTERS} characters.`);
}

/**
 * The words of the names that are asked for beside the search. Whatever has these names has the words, so an index of
 * words finds less that is not asked for. Words that are too long for some indexes are left out.
 */
export function namedWords({ agent, tool, label }: InterruptQuery): readonly string[] {
  const names = [agent, tool, label].flatMap((name) => (name === undefined ? [] : wordsIn(name)));
  return names.filter(({ length }) => length <= 100);
}

/**
 * Of whom and of what kind the questions are that are asked for beside the search, as words with a letter in front that
 * says which of these it is. Names are made of anything: `nameOf` makes one word of each.
 */
export function tagsOf({ startedBy, kind, risk }: InterruptQuery, nameOf: (text: string) => string): readonly string[] {
  const asked = { s: startedBy, k: kind, r: risk };
  return Object.entries(asked).flatMap(([tag, name]) => (name === undefined ? [] : [`${tag}${nameOf(name)}`]));
}

/** Every word of a question, each with a space before it: a text is searched far faster than a list. */
export function wordsOf({ agent, tool, labels, card }: Searched): string {
  return [agent, tool, ...labels, ...shownTexts(card)]
    .flatMap(wordsIn)
    .map((word) => ` ${word}`)
    .join('');
}

/** Whether each of the words that are asked for begins one of `words`. */
export function hasAll(words: string, asked: readonly string[]): boolean {
  return asked.every((wanted) => words.includes(` ${wanted}`));
}

/** Letters and digits without anything between them. */
function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** The texts and numbers in the input and in what the asker wants shown, however deep they are. */
function shownTexts(card: Json): readonly string[] {
  const texts: string[] = [];
  const left: (Json | undefined)[] = [
    at(card, 'part', 'toolRequest', 'input'),
    at(card, 'part', 'metadata', 'interrupt'),
  ];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string' || typeof value === 'number') texts.push(String(value));
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) left.push(inner);
  }
  return texts;
}

function at(value: Json, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (inner, key) => (isObject(inner) && Object.hasOwn(inner, key) ? (inner[key] as Json) : undefined),
    value,
  );
}
