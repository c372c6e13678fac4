// The shape of the user pages: short outside the reference, and every guide begins with its install line.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const docs = resolve(import.meta.dirname, '../../../../docs');
const pages = globSync('**/*.md', { cwd: docs, exclude: ['source/**'] }).sort();
const textOf = (page: string): string => readFileSync(join(docs, page), 'utf8');

describe('a page outside the reference has at most 1,200 words', () => {
  test.each(pages.filter((page) => !page.startsWith('reference/')))('%s', (page) => {
    expect(textOf(page).split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(1_200);
  });
});

describe('a guide begins with its title and its install line', () => {
  test.each(pages.filter((page) => page.startsWith('guides/')))('%s', (page) => {
    expect(textOf(page)).toMatch(/^# .+\n\n```sh\nnpm install [^\n]*@?countersign/);
  });
});

test('every other page begins with its title', () => {
  expect(pages.filter((page) => page !== 'index.md' && !/^# .+\n\n/.test(textOf(page)))).toEqual([]);
});
