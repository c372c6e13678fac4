// A campaign of `npm run simulate` that is killed in the middle and started again finds what an unbroken one finds.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const script = fileURLToPath(new URL('../../../../scripts/simulate.mjs', import.meta.url));
const SCHEDULES = 16;

type State = { readonly figures: { readonly schedules?: number }; readonly hashes: string };

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'countersign-campaign-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function campaign(state: string): ChildProcess {
  const options = ['--schedules', SCHEDULES, '--seed', 40, '--block', 2, '--workers', 2, '--state', state];
  return spawn(process.execPath, [script, ...options.map(String)], { stdio: 'ignore' });
}

const read = (state: string): State | undefined => {
  return existsSync(state) ? JSON.parse(readFileSync(state, 'utf8')) : undefined;
};

test('a campaign that is killed and continues has the figures and the traces of one that is not', {
  timeout: 120_000,
}, async () => {
  const place = folder();
  const [unbroken, killed] = [join(place, 'unbroken.json'), join(place, 'killed.json')];
  const whole = campaign(unbroken);
  const ended = once(whole, 'exit');
  const first = campaign(killed);
  const died = once(first, 'exit');
  const done = (): number => read(killed)?.figures.schedules ?? 0;
  await expect.poll(done, { timeout: 60_000, interval: 20 }).toBeGreaterThan(2);
  first.kill('SIGKILL');
  expect(await died).toEqual([null, 'SIGKILL']);
  expect(done()).toBeLessThan(SCHEDULES);
  expect(await once(campaign(killed), 'exit')).toEqual([0, null]);
  expect(await ended).toEqual([0, null]);
  const [expected, found] = [read(unbroken), read(killed)];
  expect(expected?.figures.schedules).toBe(SCHEDULES);
  expect(found?.figures).toEqual(expected?.figures);
  expect(found?.hashes).toBe(expected?.hashes);
});
