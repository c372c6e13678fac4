// Values and texts in one spelling, so that a value is found however a source writes it: numbers, dates, IBANs, white space and case.
import { dateReadings, numberReadings, numbersIn } from './readings.ts';

/** A text in which values are looked for. What only some values need is made at their first use. */
export class SearchedText {
  readonly plain: string;
  #compact: string | undefined;
  #numbers: ReadonlySet<string> | undefined;
  #dates: ReadonlySet<string> | undefined;

  constructor(text: string) {
    this.plain = plainText(text);
  }

  get compact(): string {
    this.#compact ??= compactText(this.plain);
    return this.#compact;
  }

  get numbers(): ReadonlySet<string> {
    this.#numbers ??= numbersIn(this.plain);
    return this.#numbers;
  }

  get dates(): ReadonlySet<string> {
    this.#dates ??= new Set(dateReadings(this.plain));
    return this.#dates;
  }
}

/** A value in the spellings that count. */
export type Wanted = {
  readonly plain: string;
  /** Without its separators, if it is an IBAN, a telephone number and the like. */
  readonly compact?: string;
  readonly numbers: readonly string[];
  /** The days that it may mean. `hasTime`: the day alone is not the value. */
  readonly days: readonly string[];
  readonly hasTime?: true;
};

/** Undefined if the value is too common to say anything: one digit, two letters, `true`, nothing. */
export function wantedOf(value: string | number): Wanted | undefined {
  const plain = plainText(String(value)).trim();
  if (typeof value === 'number') {
    if (Number.isInteger(value) && value > -10 && value < 10) return undefined;
    // It may be an account.
    return { plain, numbers: numberReadings(plain), days: [], ...(/^\d{8,}$/.test(plain) && { compact: plain }) };
  }
  if (plain.length < 2 || (plain.length === 2 && /^[ -~]*$/.test(plain)) || COMMON.has(plain)) return undefined;
  const compact = compactText(plain);
  const isIdentifier = /^[\p{L}\p{N}]{8,40}$/u.test(compact)
    ? (compact.match(/\d/g) ?? []).length >= 4
    : /^\d{6,7}$/.test(compact);
  const isNumber = /^[^\p{L}\p{N}]{0,2}(?!0\d)\d[\d.,'’ ]*[^\p{L}\p{N}]{0,2}$/u.test(plain);
  const days = plain.length <= LONGEST_DATE ? dateReadings(plain) : [];
  const hasTime = /\d:\d\d/.test(plain) && !/t00:00/.test(plain);
  return {
    plain,
    ...(isIdentifier && { compact }),
    numbers: isNumber ? numberReadings(plain) : [],
    days,
    ...(hasTime && { hasTime }),
  };
}

const COMMON: ReadonlySet<string> = new Set(['true', 'false', 'null', 'none', 'yes']);
const LONGEST_DATE = 40;

/**
 * Whether the text has the value. `isStrict`: only as a whole, so that a source that is trusted is never said to hold a value which
 * it holds as a part of a longer one: `anna@acme.co` is not in `anna@acme.co.uk`.
 */
export function isIn(
  { plain, compact, numbers, days, hasTime }: Wanted,
  text: SearchedText,
  isStrict: boolean,
): boolean {
  if (holds(text.plain, plain, isStrict)) return true;
  const isLong = compact !== undefined && compact.length >= LONG;
  if (compact !== undefined && text.compact.includes(compact))
    if ((isLong && !isStrict) || spelt(compact).test(text.plain)) return true;
  if (numbers.some((number) => text.numbers.has(number))) return true;
  return !(isStrict && hasTime) && days.some((day) => text.dates.has(day));
}

function holds(text: string, plain: string, isStrict: boolean): boolean {
  if (!isStrict && plain.length >= LONG) return text.includes(plain);
  for (let at = text.indexOf(plain); at >= 0; at = text.indexOf(plain, at + 1)) {
    const end = at + plain.length;
    const around = [text.slice(at < 2 ? 0 : at - 2, at), plain, text.slice(end, end + 2)] as const;
    if (isWhole(around, isStrict)) return true;
  }
  return false;
}

/** So long a text is no coincidence, also inside a word. */
const LONG = 8;

/** Nothing before or after continues the value. Scripts without spaces have no words to compare. */
function isWhole([before, value, after]: readonly [string, string, string], isStrict: boolean): boolean {
  if (ENDS_AS_WORD.test(before) && STARTS_AS_WORD.test(value)) return false;
  if (ENDS_AS_WORD.test(value) && STARTS_AS_WORD.test(after)) return false;
  return !isStrict || !(JOINED_BEFORE.test(before) || JOINED_AFTER.test(after));
}

const LETTER = String.raw`(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}])[\p{L}\p{N}\p{M}]`;
const JOINER = String.raw`[._@+\-/\\%&#]`;
const ENDS_AS_WORD = new RegExp(`${LETTER}$`, 'u');
const STARTS_AS_WORD = new RegExp(`^${LETTER}`, 'u');
const JOINED_BEFORE = new RegExp(`${LETTER}${JOINER}$`, 'u');
const JOINED_AFTER = new RegExp(`^${JOINER}${LETTER}`, 'u');

/** The characters with any separators between them, and no more of them around. */
function spelt(compact: string): RegExp {
  const inside = [...compact].join(String.raw`[\s\p{Pd}_./+()]{0,2}`);
  return new RegExp(`(?<![\\p{L}\\p{N}][._@/\\-]?|\\d )${inside}(?![._@/\\-]?[\\p{L}\\p{N}]| \\d)`, 'u');
}

/** One form of every character, no invisible ones, small letters, Western digits, and single spaces. */
function plainText(text: string): string {
  const folded = text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase();
  return folded.replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 0xf)).replace(/\s+/g, ' ');
}

const compactText = (plain: string): string => plain.replace(/[\s\p{Pd}_./+()]+/gu, '');
