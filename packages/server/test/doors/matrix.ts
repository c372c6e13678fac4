// The matrices of doors and attacks on a page of the documentation. `npm run doors` writes them; the tests compare them. Each test
// file owns the section under one heading.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { NotApplicable } from './door.ts';

type Result = 'held' | NotApplicable;

/** `says`: what stands above the table. `meanings`: what each column means, if its name does not say it. */
type Section<Column extends string> = {
  readonly heading: string;
  readonly says: string;
  readonly columns: readonly Column[];
  readonly meanings?: Readonly<Record<Column, string>>;
};

const PAGE = join(import.meta.dirname, '../../../../docs/reference/doors.md');
/** Set by `npm run doors`. */
const WRITES = process.env.COUNTERSIGN_WRITE_DOORS === '1';

export class Matrix<Column extends string> {
  readonly #section: Section<Column>;
  readonly #cells = new Map<string, Map<Column, Result>>();

  constructor(section: Section<Column>) {
    this.#section = section;
  }

  set(door: string, attack: Column, result: Result): void {
    const row = this.#cells.get(door) ?? new Map<Column, Result>();
    this.#cells.set(door, row.set(attack, result));
  }

  /** Writes the section, or compares it. A run of some cells only says nothing about it. */
  compare(size: number): void {
    const known = [...this.#cells.values()].reduce((sum, row) => sum + row.size, 0);
    if (known < size) return;
    const page = readFileSync(PAGE, 'utf8');
    const start = page.indexOf(`\n## ${this.#section.heading}\n`);
    if (start < 0) throw new Error(`${PAGE} has no heading "${this.#section.heading}".`);
    const next = page.indexOf('\n## ', start + 1);
    const end = next < 0 ? page.length : next;
    if (WRITES) writeFileSync(PAGE, `${page.slice(0, start)}${this.#text()}${page.slice(end)}`);
    else expect(page.slice(start, end), 'Run `npm run doors`.').toBe(this.#text());
  }

  #text(): string {
    const { heading, says, columns, meanings } = this.#section;
    const results = [...this.#cells.values()].flatMap((row) => [...row.values()]);
    const held = results.filter((result) => result === 'held').length;
    const reasons: string[] = [];
    const cellOf = (result: Result | undefined): string => {
      if (typeof result !== 'object') return result ?? '';
      const { notApplicable } = result;
      if (!reasons.includes(notApplicable)) reasons.push(notApplicable);
      return `n/a (${reasons.indexOf(notApplicable) + 1})`;
    };
    const rows = [...this.#cells].map(
      ([door, row]) => `| ${door} | ${columns.map((name) => cellOf(row.get(name))).join(' | ')} |`,
    );
    const notes = reasons.map((reason, index) => `${index + 1}. ${reason}`).join('\n');
    return `
## ${heading}

${says}

All ${held} attacks held, at ${this.#cells.size} doors; ${results.length - held} cells do not apply.

| door | ${columns.join(' | ')} |
|---|${columns.map(() => '---').join('|')}|
${rows.join('\n')}
${meanings ? `\n${columns.map((name) => `- **${name}**: ${meanings[name]}`).join('\n')}\n` : ''}
Not applicable:

${notes}
`;
  }
}
