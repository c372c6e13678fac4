// The real engine in virtual time: no schedule breaks a law, and the same seed gives the same schedule. `npm run simulate` runs more.
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { FAULTS } from './planted/faults.ts';
import { findPlanted } from './planted/find.ts';
import { tableOf } from './planted/table.ts';
import { startWorker } from './workers.ts';

function worker() {
  const started = startWorker();
  onTestFinished(() => started.stop());
  return started;
}

test('no schedule breaks a law, in memory and in files of SQLite', async () => {
  const inMemory = await worker().run({ from: 1, count: 30 });
  const inFiles = await worker().run({ from: 1, count: 5, place: 'sqlite' });
  expect([...inMemory.found, ...inFiles.found]).toEqual([]);
  const { doubts, effects, deaths, decisions, stops, granted, frozen, limited } = inMemory.figures;
  // Everything in the world happens: a grant that is always refused, for example, would hide what it is there to try.
  expect(Math.min(doubts, effects, deaths, decisions, stops, granted, frozen, limited)).toBeGreaterThan(0);
  expect(inFiles.figures.torn).toBeGreaterThan(0);
});

test('the same seed gives the same schedule, event by event, whatever ran before in the process', async () => {
  const first = worker();
  await first.run({ from: 20, count: 2 });
  const hashes = [await first.run({ from: 31, count: 3 }), await worker().run({ from: 31, count: 3 })];
  expect(hashes[0]?.hashes).toBe(hashes[1]?.hashes);
});

test('the text that each planted fault replaces is in the sources, once', () => {
  const places = FAULTS.map(({ name, file, find }) => {
    const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
    return [name, source.split(find).length - 1];
  });
  expect(places.filter(([, count]) => count !== 1)).toEqual([]);
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
});

const page = (path: string): string => readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8');
const plantedIn = (text = ''): readonly string[] =>
  [...text.matchAll(/Planted: \*([^*]+)\*/g)].map(([, name = '']) => name);

test('the page of the planted faults has all of them, at least 40', () => {
  expect(page('reference/planted-faults.md')).toBe(tableOf(FAULTS));
  expect(FAULTS.length).toBeGreaterThanOrEqual(40);
});

test('docs/design.md names a planted fault beside the test of each of the 19 rules, and only faults that exist', () => {
  const [, rules = ''] = page('design.md')
    .split(/^## /m)
    .filter((part) => !part.startsWith('The shape'));
  const unnamed = rules
    .split(/^(?=\d+\. )/m)
    .slice(1)
    .filter((rule) => plantedIn(rule).length === 0);
  expect(rules.split(/^(?=\d+\. )/m).slice(1)).toHaveLength(19);
  expect(unnamed).toEqual([]);
  const known = new Set(FAULTS.map(({ name }) => name));
  expect(plantedIn(page('design.md')).filter((name) => !known.has(name))).toEqual([]);
});

test('the faults that are found fastest are found', async () => {
  const fastest = FAULTS.filter(({ within }) => within <= 20).slice(0, 4);
  expect(fastest).toHaveLength(4);
  const findings = await findPlanted(fastest, 2);
  expect(findings.filter(({ found }) => found === undefined)).toEqual([]);
});
