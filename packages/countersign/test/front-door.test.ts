// The entry points stay small: authors read the front door, and browsers load `countersign/request`.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const door = (file: string) => readFileSync(join(import.meta.dirname, '../src', file), 'utf8');

/** The names that a door lists, types included. */
function namesOf(source: string): readonly string[] {
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = '']) => list);
  return lists.flatMap(namesIn).map((name) => name.replace(/^type /, ''));
}

const namesIn = (list: string): readonly string[] =>
  list
    .replace(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

test('the front door has at most 80 names', () => {
  const names = namesOf(door('index.ts'));
  expect(names).toContain('countersign');
  expect(names.length).toBeLessThanOrEqual(80);
});

test('no name is at two of the doors for values and records', () => {
  const names = ['index.ts', 'request.ts', 'store.ts'].flatMap((file) => namesOf(door(file)));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  // Authors of an application and authors of a store both write this one.
  expect(twice).toEqual(['Store']);
});

test('the door for browsers imports the pure core, and what writes money and dates', () => {
  const imports = [...door('request.ts').matchAll(/ from '([^']*)'/g)].map(([, path]) => path);
  expect(imports.filter((path) => !path?.startsWith('./core/'))).toEqual(['./reading-text.ts']);
});

test('what browsers load needs no package', () => {
  const files = new Set<string>();
  const packages: string[] = [];
  const load = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, list = '', path = ''] of door(file).matchAll(/^(?:im|ex)port (?!type )([^;]*?) from '([^']*)'/gm)) {
      const isTypes = list.startsWith('{') && namesIn(list).every((name) => name.startsWith('type '));
      if (!isTypes) path.startsWith('.') ? load(join(dirname(file), path)) : packages.push(`${file}: ${path}`);
    }
  };
  load('request.ts');
  expect(files).toContain('core/run/timeline.ts');
  expect(packages).toEqual([]);
});
