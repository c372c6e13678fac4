// The scoreboard: our own row, measured again in small, and the page that is made from the results.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const load = (path: string) => import(/* @vite-ignore */ join(root, 'scoreboard', path));

test('under every fault of the scoreboard, no payment of ours goes wrong', async () => {
  const { measure, COLUMNS } = await load('lib/measure.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-scoreboard-'));
  try {
    const { faults } = await measure({ system: 'countersign', way: '', folder, times: 3, seed: 7, isQuick: true });
    const none = { of: 3, ...Object.fromEntries(COLUMNS.map((column: string) => [column, 0])) };
    for (const [name, found] of Object.entries(faults))
      expect({ name, found }).toMatchObject({ name, found: (found as any).open === false ? {} : none });
    expect(Object.keys(faults)).toHaveLength(9);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 300_000);

test('the page and its chart are made from the results, and every program is short', async () => {
  const { pageOf } = await load('lib/page.mjs');
  const { chartOf } = await load('lib/chart.mjs');
  const { SYSTEMS } = await load('systems.mjs');
  const results = JSON.parse(read('scoreboard/results/latest.json'));
  const made = 'To make it again: node scoreboard/run.mjs --page';
  expect(read('docs/scoreboard.md'), made).toBe(pageOf(results));
  expect(read('docs/images/scoreboard.svg'), made).toBe(chartOf(results));
  for (const [system, { missing }] of Object.entries<{ missing?: string }>(SYSTEMS)) {
    if (missing !== undefined) continue;
    expect(read(`scoreboard/systems/${system}/adapter.mjs`).split('\n').length, system).toBeLessThanOrEqual(150);
  }
});
