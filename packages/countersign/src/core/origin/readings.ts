// Numbers and days in a text, in one spelling. One that can be read in two ways counts in both.

/** The numbers in a plain text, as decimals. */
export function numbersIn(plain: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [token] of plain.matchAll(NUMBER)) {
    const pieces = GROUPED.test(token) ? [token, ...token.split(GROUPED)] : [token];
    for (const piece of pieces) for (const reading of numberReadings(piece)) found.add(reading);
  }
  return found;
}

const NUMBER = /\d{1,3}(?:[ '’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*/g;
const GROUPED = /[ '’]/;

/** What a written number may mean: `1.250` is 1.25 and 1250. */
export function numberReadings(token: string): readonly string[] {
  const digits = token.replace(/[^\d.,]/g, '').replace(/^[.,]+|[.,]+$/g, '');
  const marks = digits.match(/[.,]/g) ?? [];
  const last = marks.at(-1);
  if (last === undefined) return digits === '' ? [] : [decimal(digits, '')];
  const at = digits.lastIndexOf(last);
  const [whole, fraction] = [digits.slice(0, at), digits.slice(at + 1)];
  const isRepeated = marks.filter((mark) => mark === last).length > 1;
  const asDecimal = isRepeated ? [] : [decimal(whole, fraction)];
  const asGroup = isRepeated || (marks.length === 1 && fraction.length === 3) ? [decimal(digits, '')] : [];
  return [...asDecimal, ...asGroup];
}

function decimal(whole: string, fraction: string): string {
  const [digits, decimals] = [whole.replace(/\D/g, '').replace(/^0+(?=\d)/, ''), fraction.replace(/0+$/, '')];
  return decimals === '' ? digits : `${digits}.${decimals}`;
}

/** The days in a plain text, such as `2026-12-31`. `3/4/2026` is two days. */
export function dateReadings(plain: string): readonly string[] {
  const days: (string | undefined)[] = [];
  for (const [, year, month, date] of plain.matchAll(YEAR_FIRST)) days.push(day(year, month, date));
  for (const [, one, other, year] of plain.matchAll(YEAR_LAST)) days.push(day(year, other, one), day(year, one, other));
  for (const [, date, name, year] of plain.matchAll(DAY_NAME)) days.push(day(year, monthOf(name), date));
  for (const [, name, date, year] of plain.matchAll(NAME_DAY)) days.push(day(year, monthOf(name), date));
  return days.filter((found) => found !== undefined);
}

const YEAR_FIRST = /(?<!\d)(\d{4})[-/.年] ?(\d{1,2})[-/.月] ?(\d{1,2})(?!\d)/g;
const YEAR_LAST = /(?<!\d)(\d{1,2})[-/.] ?(\d{1,2})[-/.] ?(\d{4})(?!\d)/g;
const DAY_NAME = /(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|\.|º)? (?:de |of )?(\p{L}{3,10})\.?,? (?:de )?(\d{4})(?!\d)/gu;
const NAME_DAY = /(\p{L}{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?!\d)/gu;

function day(year = '', month: string | number | undefined = '', date = ''): string | undefined {
  const [m, d] = [Number(month), Number(date)];
  if (!(m >= 1 && m <= 12 && d >= 1 && d <= 31)) return undefined;
  return `${year}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`;
}

/** By the beginnings of its names in English, German, French, Spanish, Italian, Portuguese and Dutch. */
const MONTHS = [
  /^(jan|gen|ene)/,
  /^(feb|fev|fév)/,
  /^(mar|mär|maa|mrt)/,
  /^(apr|avr|abr)/,
  /^(may|mai|mei|mag)/,
  /^(jun|giu|juin)/,
  /^(jul|lug|juil)/,
  /^(aug|aou|aoû|ago)/,
  /^(sep|set)/,
  /^(oct|okt|ott|out)/,
  /^nov/,
  /^(dec|dez|dic|déc)/,
];

const monthOf = (name = ''): number => MONTHS.findIndex((month) => month.test(name)) + 1;
