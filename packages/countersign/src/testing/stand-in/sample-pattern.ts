// A string that fits a regular expression: the shortest plain one, for patterns of the kind that schemas have.

/** Returns undefined if the pattern uses something that is not supported, or no string was found. */
export function sampleOf(pattern: string): string | undefined {
  try {
    const sample = new Reader(pattern).alternatives();
    return new RegExp(pattern, 'u').test(sample) ? sample : undefined;
  } catch {
    // An unsupported pattern has no sample; the caller has other values.
    return undefined;
  }
}

class Reader {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  /** Takes the first alternative and skips the others. */
  alternatives(): string {
    const first = this.#sequence();
    while (this.#eats('|')) this.#sequence();
    return first;
  }

  #sequence(): string {
    let sample = '';
    while (this.#at < this.#pattern.length && !this.#sees('|') && !this.#sees(')')) {
      const atom = this.#atom();
      sample += atom.repeat(this.#times());
    }
    return sample;
  }

  #atom(): string {
    if (this.#eats('(')) return this.#group();
    if (this.#eats('[')) return this.#set();
    const next = this.#next();
    if (next === '^' || next === '$') return '';
    if (next === '.') return 'a';
    return next === '\\' ? escapedCharacter(this.#next()) : next;
  }

  #group(): string {
    const [prefix = ''] = /^\?(?:<?[=!]|:|<\w+>)/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += prefix.length;
    const inside = this.alternatives();
    if (!this.#eats(')')) throw new SyntaxError('Unclosed group.');
    // A lookaround has no characters of its own.
    return /[=!]$/.test(prefix) ? '' : inside;
  }

  #set(): string {
    const end = this.#pattern.slice(this.#at).search(/(?<!\\)\]/);
    if (end < 0) throw new SyntaxError('Unclosed set.');
    const set = `[${this.#pattern.slice(this.#at, this.#at + end)}]`;
    this.#at += end + 1;
    const fitting = [...CANDIDATES].find((character) => new RegExp(set, 'u').test(character));
    if (fitting === undefined) throw new SyntaxError('No character fits.');
    return fitting;
  }

  #times(): number {
    const [all = '', fewest] = /^(?:\{(\d+)(?:,\d*)?\}|[?*+])\??/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += all.length;
    if (fewest !== undefined) return Number(fewest);
    return /^[?*]/.test(all) ? 0 : 1;
  }

  #sees(text: string): boolean {
    return this.#pattern.startsWith(text, this.#at);
  }

  #eats(text: string): boolean {
    if (!this.#sees(text)) return false;
    this.#at += text.length;
    return true;
  }

  #next(): string {
    const next = this.#pattern[this.#at];
    if (next === undefined) throw new SyntaxError('Unexpected end.');
    this.#at += 1;
    return next;
  }
}

const CANDIDATES = 'A1a-_ .:/@+#!';

function escapedCharacter(letter: string): string {
  switch (letter) {
    case 'd':
      return '1';
    case 'w':
    case 'D':
    case 'S':
      return 'A';
    case 's':
    case 'W':
      return ' ';
    case 'b':
    case 'B':
      return '';
    default:
      if (/[a-z0-9]/i.test(letter)) throw new SyntaxError('Unsupported escape.');
      return letter;
  }
}
