// The shape of the user pages: few and short, and every guide begins with the packages that it needs.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const docs = resolve(import.meta.dirname, '../../../../docs');
const pages = globSync('**/*.md', { cwd: docs, exclude: ['source/**'] }).sort();
const textOf = (page: string): string => readFileSync(join(docs, page), 'utf8');

/** Made from the code, or from results: they grow with it. */
const GENERATED = new Set([
  'reference/api.md',
  'reference/doors.md',
  'reference/errors.md',
  'reference/planted-faults.md',
  'scoreboard.md',
]);

describe('a page outside the reference has at most 1,200 words', () => {
  test.each(pages.filter((page) => !page.startsWith('reference/') && !GENERATED.has(page)))('%s', (page) => {
    expect(words(textOf(page)).length).toBeLessThanOrEqual(1_200);
  });
});

/** Together. Lower them when you can; merge or shorten pages before you raise them. */
const MOST_PAGES = 76;
const MOST_WORDS = 79_750;

test('all pages together stay few and short', () => {
  const written = pages.filter((page) => !GENERATED.has(page));
  expect(written.length).toBeLessThanOrEqual(MOST_PAGES);
  const count = written.reduce((sum, page) => sum + words(textOf(page)).length, 0);
  expect(count).toBeLessThanOrEqual(MOST_WORDS);
});

/** Its readers install nothing. */
const FOR_PEOPLE = 'guides/for-approvers.md';

test('the page for approvers has pictures and no code', () => {
  expect(textOf(FOR_PEOPLE).match(/\.\.\/images\/[\w-]+\.png/g)?.length).toBeGreaterThanOrEqual(5);
  expect(textOf(FOR_PEOPLE)).not.toContain('```');
});

describe('a guide begins with its title and the packages that its examples import', () => {
  test.each(pages.filter((page) => page.startsWith('guides/') && page !== FOR_PEOPLE))('%s', (page) => {
    const text = textOf(page);
    const commands = /^# .+\n\n```sh\n(npm (?:install|create) [\s\S]+?)\n```\n/.exec(text)?.[1] ?? '';
    const installed = new Set(
      [...commands.matchAll(/^npm (?:install|create) ([^#\n]+)/gm)].flatMap((match) => words(match[1])),
    );
    expect(installed).toContain('countersign');
    expect(importsOf(text).filter((name) => !installed.has(name) && !YOUR_APP.has(name))).toEqual([]);
  });
});

/** Packages of an app that a guide adds something to. */
const YOUR_APP = new Set(['hono', 'react']);

/** The packages that the TypeScript blocks import. */
function importsOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```tsx?(?: run)?\n([\s\S]*?)^```/gm)].map((match) => match[1]).join('\n');
  const names = [...blocks.matchAll(/ from '([^'.][^']*)'/g)].map((match) => match[1] ?? '');
  const packages = names.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '');
  return [...new Set(packages)].filter((name) => !name.startsWith('node:'));
}

test('the README has at most 1,200 words', () => {
  expect(words(readFileSync(join(docs, '../README.md'), 'utf8')).length).toBeLessThanOrEqual(1_200);
});

const words = (text = ''): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

test('every other page begins with its title', () => {
  expect(pages.filter((page) => page !== 'index.md' && !/^# .+\n\n/.test(textOf(page)))).toEqual([]);
});
