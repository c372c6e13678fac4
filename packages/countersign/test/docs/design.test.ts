// docs/design.md states the 19 rules, and each of them links to the test file that proves it.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../../..');
const docs = join(root, 'docs');
const rulesFolder = join(root, 'packages/countersign/test/rules');

type Rule = { readonly number: number; readonly proof: string | undefined };

const section = readFileSync(join(docs, 'design.md'), 'utf8')
  .split('\n## ')
  .find((part) => part.startsWith('The 19 rules'));
const rules: readonly Rule[] = (section ?? '').split(/\n(?=\d+\. )/).flatMap((text): Rule | [] => {
  const number = /^(\d+)\. /.exec(text)?.[1];
  return number === undefined ? [] : { number: Number(number), proof: /\[Proof\]\(([^)]+)\)/.exec(text)?.[1] };
});

test('the page states the rules 1 to 19', () => {
  expect(rules.map(({ number }) => number)).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
});

describe('a rule links to the test that proves it', () => {
  test.each(rules)('rule $number', ({ number, proof }) => {
    const file = join(docs, proof ?? '');
    expect(proof && existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`describe\\('rule ${number}: `));
  });
});

test('every rule that a test names is on the page', () => {
  const tests = globSync('*.test.ts', { cwd: rulesFolder }).map((file) =>
    readFileSync(join(rulesFolder, file), 'utf8'),
  );
  const named = tests.flatMap((text) =>
    [...text.matchAll(/describe\('rule (\d+): /g)].map((match) => Number(match[1])),
  );
  expect([...new Set(named)].sort((a, b) => a - b)).toEqual(rules.map(({ number }) => number));
});
