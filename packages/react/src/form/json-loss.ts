// What a JSON text says and its value would not: digits that no number keeps, and a name that stands there twice.
import type { Words } from '../appearance.tsx';
import { keepsDigits } from './check.ts';

/** Undefined if the value says all that the text does. The text must be JSON. */
export function lossIn(json: string, words: Words): string | undefined {
  /** The names of each object that is open; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at] as string;
    if (sign === '{') open.push(new Set());
    else if (sign === '[') open.push(undefined);
    else if (sign === '}' || sign === ']') open.pop();
    else if (sign === '"') {
      const end = endOfString(json, at);
      if (isName(json, end)) {
        const name: string = JSON.parse(json.slice(at, end));
        if (open.at(-1)?.has(name)) return words.sameName;
        open.at(-1)?.add(name);
      }
      at = end - 1;
    } else if (/[-\d]/.test(sign)) {
      const number = numberAt(json, at);
      if (!keepsDigits(number)) return words.tooManyDigits;
      at += number.length - 1;
    }
  }
  return undefined;
}

/** Only a name is followed by a colon. */
function isName(json: string, end: number): boolean {
  let at = end;
  while (/\s/.test(json[at] ?? '')) at += 1;
  return json[at] === ':';
}

function numberAt(json: string, at: number): string {
  const number = /[-+.\deE]+/y;
  number.lastIndex = at;
  return number.exec(json)?.[0] ?? '';
}

/** Of the string that opens here, after its quote, or of the text. By steps: a pattern that repeats overflows on many escapes. */
export function endOfString(json: string, open: number): number {
  let at = open + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return Math.min(at + 1, json.length);
}
