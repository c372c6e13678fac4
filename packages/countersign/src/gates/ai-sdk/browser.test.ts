import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import * as browser from './browser.ts';
import * as server from './index.ts';

test('a page has the same names as the server', () => {
  expect(Object.keys(browser).sort()).toEqual(Object.keys(server).sort());
});

test('a page loads nothing that only a server has', () => {
  const files = new Set<string>();
  const packages = new Set<string>();
  const look = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [statement, from = ''] of text.matchAll(/^(?:import|export)\s[^;]*?from '([^']+)';/gm)) {
      if (/^(?:import|export) type\s/.test(statement)) continue;
      if (from.startsWith('.')) look(join(dirname(file), from));
      else packages.add(from);
    }
  };
  look(join(import.meta.dirname, 'browser.ts'));
  expect([...packages].sort()).toEqual(['@cfworker/json-schema', 'ai']);
});

test('a gate throws in a browser', () => {
  expect(() => browser.gateTools({}, { key: 'c', by: 'p', secret: 's' })).toThrow(
    '`gateTools` only works on the server.',
  );
});
