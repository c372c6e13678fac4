// Which characters of a text a person would not see, or would take for others.

/** A stretch of ordinary text, or the code points of a stretch of hidden characters. */
export type Stretch =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'hidden'; readonly codePoints: readonly string[] };

const JOINING = ['Arab', 'Syrc', 'Mong', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym']
  .concat(['Sinh', 'Khmr', 'Mymr', 'Tibt'])
  .map((script) => `\\p{scx=${script}}`)
  .join('');
const JOINED = String.raw`[[\p{L}\p{M}]&&[${JOINING}]]`;
const EAST_ASIAN = String.raw`[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]`;

// Emoji whose parts are joined or chosen by invisible characters; joiners between letters of scripts that are written
// with them; selectors of the form of an ideograph; the wide space of East Asian text; and signs of Arabic, Syriac and
// Kaithi that count as format characters and yet are drawn.
const ORDINARY = [
  String.raw`(?=\p{Emoji})\p{RGI_Emoji}`,
  String.raw`\p{Extended_Pictographic}[\uFE0E\uFE0F]`,
  String.raw`[0-9#*]\uFE0F?\u20E3`,
  String.raw`(?<=${JOINED})[\u200C\u200D](?=${JOINED})`,
  String.raw`(?<=\p{scx=Hani})[\uFE00-\uFE02\u{E0100}-\u{E01EF}]`,
  String.raw`(?<=${EAST_ASIAN})\u3000(?=${EAST_ASIAN})`,
  String.raw`[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]`,
].join('|');

// Control, format, unassigned and private characters and lone surrogates; whatever fonts leave out; spaces that are not the
// space; blanks that count as letters or symbols; and marks piled up until they cover their neighbours.
const HIDDEN = [
  String.raw`[[\p{C}\p{Default_Ignorable_Code_Point}\p{Z}\u2800\u{1D159}]--[\n\t \p{Extended_Pictographic}]]`,
  String.raw`(?<=\p{M}{8})\p{M}`,
].join('|');

// So many at once: a pattern that repeats without end overflows on millions.
const PIECES = new RegExp(`(?<ordinary>${ORDINARY})|(?<hidden>(?:(?!${ORDINARY})(?:${HIDDEN})){1,1000})`, 'gv');

const MAYBE_HIDDEN = new RegExp(HIDDEN, 'gv');

/** What begins before the first character that may be hidden: a base and its skin tone, or a digit. */
const LONGEST_BASE = 4;

/** A fast check first: most text hides nothing, and it may be very long. */
function* hiddenIn(text: string): Generator<{ readonly piece: string; readonly index: number }> {
  for (let done = 0; ; ) {
    MAYBE_HIDDEN.lastIndex = done;
    const at = MAYBE_HIDDEN.exec(text)?.index;
    if (at === undefined) return;
    PIECES.lastIndex = Math.max(done, at - LONGEST_BASE);
    const match = PIECES.exec(text);
    if (!match) return;
    if (match.groups?.hidden !== undefined) yield { piece: match[0], index: match.index };
    done = match.index + match[0].length;
  }
}

/** Cuts a text into what can be seen and what cannot. */
export function stretchesOf(text: string): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let from = 0;
  let hidden: string[] | undefined;
  for (const { piece, index } of hiddenIn(text)) {
    if (index > from) stretches.push({ is: 'text', text: text.slice(from, index) });
    if (hidden === undefined || index > from) {
      hidden = [];
      stretches.push({ is: 'hidden', codePoints: hidden });
    }
    hidden.push(...Array.from(piece, codePoint));
    from = index + piece.length;
  }
  if (from < text.length) stretches.push({ is: 'text', text: text.slice(from) });
  return stretches;
}

const STRETCHES_AT_MOST = 200;

/** A browser's time for one block grows with the square of the hidden stretches in it: of very many, so many to a block. */
export function blocksOf(stretches: readonly Stretch[]): readonly (readonly Stretch[])[] {
  return Array.from({ length: Math.max(Math.ceil(stretches.length / STRETCHES_AT_MOST), 1) }, (_, index) =>
    stretches.slice(index * STRETCHES_AT_MOST, (index + 1) * STRETCHES_AT_MOST),
  );
}

/** Whether a text holds characters that a person would not see. */
export function hasHidden(text: string): boolean {
  return !hiddenIn(text).next().done;
}

/** How hidden characters are shown, all of them: `⟦U+202E⟧`, `⟦U+200B ×300⟧`. */
export function escapeOf(codePoints: readonly string[]): string {
  const runs: { codePoint: string; count: number }[] = [];
  for (const codePoint of codePoints) {
    const last = runs.at(-1);
    if (last?.codePoint === codePoint) last.count += 1;
    else runs.push({ codePoint, count: 1 });
  }
  return `⟦${runs.map(({ codePoint, count }) => (count > 1 ? `${codePoint} ×${count}` : codePoint)).join(' ')}⟧`;
}

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
