// A letter as plain text. Only our own lines begin without an indent or a bar, so no value can pass for one of them.

import { isRightToLeft } from './direction.ts';
import type { Letter } from './letter.ts';
import { type Block, type Link, linksIn, type Section } from './section.ts';
import type { Row } from './value-rows.ts';

export function textOf({ heading, sections, footer, tooLarge }: Letter): string {
  const parts = sections.map((section) => sectionText(section, tooLarge));
  return `${[...(heading === '' ? [] : [heading]), parts.join(`\n\n${'_'.repeat(40)}\n\n`), `-- \n${footer.join('\n')}`].join('\n\n')}\n`;
}

function sectionText(section: Section, tooLarge: string): string {
  const { lead, title, source, badges, blocks, hint } = section;
  return [
    ...(lead === '' ? [] : [lead]),
    [isolated(title), ...(source === '' ? [] : [source])].join('\n'),
    ...(badges.length === 0 ? [] : [badges.map(({ text }) => text).join(' · ')]),
    ...blocks.map((block) => blockText(block, tooLarge)),
    ...linkTexts(linksIn(section)),
    ...(hint === '' ? [] : [hint]),
  ].join('\n\n');
}

function blockText({ caption, rows, look }: Block, tooLarge: string): string {
  const lines = rows ? rows.flatMap((row) => rowLines(row, look)) : [tooLarge];
  return [...(caption === '' ? [] : [caption]), ...lines].join('\n');
}

function rowLines({ depth, name, text }: Row, look: Block['look']): readonly string[] {
  const indent = look === 'message' ? '  ' : '  '.repeat(depth + 1);
  if (text === undefined) return [`${indent}${isolated(name ?? '')}:`];
  const lines = text.split('\n').map(isolated);
  if (lines.length === 1) return [`${indent}${name === undefined ? '' : `${isolated(name)}: `}${lines[0]}`];
  const barred = lines.map((line) => `${indent}${name === undefined ? '' : '  '}│ ${line}`.trimEnd());
  return [...(name === undefined ? [] : [`${indent}${isolated(name)}:`]), ...barred];
}

/** Links to the same page are on one line. */
function linkTexts(links: readonly Link[]): readonly string[] {
  const pages = Map.groupBy(links, ({ url }) => url.split('#')[0] ?? url);
  return [...pages].map(([page, same]) => `${same.map(({ label }) => label).join(', ')}:\n${page}`);
}

/** Keeps text that is written from right to left from changing places with what is beside it. */
const isolated = (text: string): string => (isRightToLeft(text) ? `\u2068${text}\u2069` : text);
