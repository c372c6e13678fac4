import { expect, test } from 'vitest';
import type { Command } from './command.ts';
import { parseArguments } from './parse-arguments.ts';
import { createOutput } from './print/output.ts';

const command: Command = {
  name: 'try',
  arguments: '<what> [more]',
  summary: '',
  description: [],
  options: {
    limit: { value: 'number', short: 'n', summary: '' },
    approve: { summary: '' },
    status: { value: 'status', summary: '', choices: ['open', 'shut'] },
  },
  examples: [],
  run: async () => undefined,
};
const parse = (...args: string[]) => parseArguments(command, args, createOutput);

test('values come behind a space or an equals sign, and may begin with a dash', () => {
  expect(parse('a', '--limit', '3').whole('limit', 1, 9)).toBe(3);
  expect(parse('a', '--limit=3').text('limit')).toBe('3');
  expect(parse('a', '-n', '3').text('limit')).toBe('3');
  expect(parse('a', '--limit', '-1').text('limit')).toBe('-1');
  expect(parse('a', '--limit=--x').text('limit')).toBe('--x');
  expect(parse('--', '--limit').positionals).toEqual(['--limit']);
});

test.each([
  [['--limit'], /--limit needs a value/],
  [['--limit', '--approve'], /--limit needs a value/],
  [['--approve=1'], /--approve takes no value/],
  [['--aprove'], /Did you mean --approve/],
  [['--constructor'], /has no option --constructor/],
  [['-z'], /has no option -z/],
  [['--status', 'opne'], /one of open, shut.*Did you mean open/],
  [['a', 'b', 'c'], /does not take “c”/],
])('%j is refused', (args, message) => {
  expect(() => parse(...args)).toThrow(message);
});

test.each(['', ' ', '1.5', 'x', '0', '10', '1e1'])('“%s” is no whole number from 1 to 9', (text) => {
  expect(() => parse('a', `--limit=${text}`).whole('limit', 1, 9)).toThrow(/whole number from 1 to 9/);
});
