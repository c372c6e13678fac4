// Finds what `JSON.parse` hides: keys that repeat or differ only in case, deep nesting, and numbers that it changes.

const MOST_LEVELS = 100;

/** What makes a text of valid JSON ambiguous; undefined if every reader understands it in the same way. Takes linear time. */
export function ambiguityIn(json: string): string | undefined {
  /** The keys of each open object, and undefined for each open array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < json.length; ) {
    const character = json[at] as string;
    let end = at + 1;
    if (character === '"') {
      end = endOfString(json, at);
      const key = isKey(json, end) ? (JSON.parse(json.slice(at, end)) as string) : undefined;
      const keys = open.at(-1);
      if (key !== undefined && keys?.has(folded(key)))
        return `the key ${JSON.stringify(key)} is repeated, or differs from another key only in case`;
      if (key !== undefined) keys?.add(folded(key));
    } else if (character === '{' || character === '[') {
      if (open.push(character === '{' ? new Set() : undefined) > MOST_LEVELS)
        return `it has more than ${MOST_LEVELS} levels`;
    } else if (character === '}' || character === ']') open.pop();
    else if (character === '-' || isDigit(character)) {
      while (end < json.length && /[\d.eE+-]/.test(json[end] as string)) end += 1;
      const number = json.slice(at, end);
      const isKept = /^-?\d+$/.test(number) ? Number.isSafeInteger(Number(number)) : Number.isFinite(Number(number));
      if (!isKept) return `the number ${number.slice(0, 40)} is too large. Send it as a string`;
    }
    at = end;
  }
  return undefined;
}

/** The form in which keys are compared: a server may ignore case, in any script. */
export const folded = (key: string): string => key.normalize('NFC').toUpperCase().toLowerCase();

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

/** The index after the closing quote. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isKey(json: string, end: number): boolean {
  let at = end;
  while (json[at] === ' ' || json[at] === '\n' || json[at] === '\r' || json[at] === '\t') at += 1;
  return json[at] === ':';
}
