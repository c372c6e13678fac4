// Finds what `JSON.parse` hides or cannot bear: keys that repeat, deep nesting, too many values, and numbers that it changes.

export type JsonTextLimits = {
  readonly depth: number;
  readonly values: number;
  /** Also refuses keys that differ only in case, and numbers that change when they are read. */
  readonly isStrict?: boolean;
};

export type JsonTextFault = { readonly kind: 'depth' | 'values' | 'key' | 'number'; readonly problem: string };

/** Why two readers could understand the text differently, or reading it costs too much. Takes linear time, for any text. */
export function faultInJson(text: string, limits: JsonTextLimits): JsonTextFault | undefined {
  const { depth, values, isStrict = false } = limits;
  const asCompared = isStrict ? folded : (key: string) => key;
  /** The keys of each open object, and undefined for each open array. */
  const open: (Set<string> | undefined)[] = [];
  let separators = 0;
  for (let at = 0, end = 1; at < text.length; at = end, end += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      end = endOfString(text, at);
      const keys = open.at(-1);
      if (!keys || !isKey(text, end)) continue;
      const key = asCompared(unquoted(text.slice(at, end)));
      if (keys.has(key)) return keyFault(key, isStrict);
      keys.add(key);
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open.push(code === OPEN_BRACE ? new Set() : undefined) > depth)
        return { kind: 'depth', problem: `it is nested deeper than ${depth} levels` };
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop();
    else if (code === COMMA || code === COLON) {
      separators += 1;
      if (separators > values) return { kind: 'values', problem: `it has more than ${values} values` };
    } else if (isStrict && (code === MINUS || isDigit(code))) {
      while (end < text.length && isOfNumber(text.charCodeAt(end))) end += 1;
      const number = text.slice(at, end);
      if (!isExact(number)) return { kind: 'number', problem: `the number ${number.slice(0, 40)} is too large` };
    }
  }
  return undefined;
}

/** The form in which names are compared: a server may ignore case, in any script. */
export const folded = (name: string): string => name.normalize('NFC').toUpperCase().toLowerCase();

function keyFault(key: string, isStrict: boolean): JsonTextFault {
  const problem = `the key ${JSON.stringify(key.slice(0, 100))} is repeated`;
  return { kind: 'key', problem: isStrict ? `${problem}, or differs from another key only in case` : problem };
}

/** The index after the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let escapes = quote;
    while (escapes - 1 > start && text.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (SPACES.has(text.charCodeAt(at))) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** Escapes can write one key in several ways. A key that is not valid JSON stays as it is: parsing the text refuses it. */
function unquoted(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}

function isExact(number: string): boolean {
  return /^-?\d+$/.test(number) ? Number.isSafeInteger(Number(number)) : Number.isFinite(Number(number));
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** A digit, or one of `+ - . e E`. */
const isOfNumber = (code: number): boolean =>
  isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || (code | 0x20) === 0x65;

const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const MINUS = 0x2d;
const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
