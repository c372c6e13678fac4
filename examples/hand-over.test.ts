import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { butcherScript, start } from './hand-over.ts';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'hand-over-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const run = (...given: readonly string[]) =>
    execFileSync(process.execPath, [join(import.meta.dirname, 'hand-over.ts'), ...given], { encoding: 'utf8' });
  const payments = () => {
    const file = join(folder, 'payments.txt');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  };
  return { folder, run, payments };
}

const processOf = (output: string) => /process (\d+)/i.exec(output)?.[1];

test('one process asks, another decides and pays, once', () => {
  const { folder, run, payments } = setUp();

  const started = run('start', folder);
  expect(started).toContain('1 call waits for a person');
  expect(payments()).toEqual([]);

  const decided = run('decide', folder, 'approve');
  expect(decided).toContain('The butcher is paid.');
  expect(processOf(decided)).not.toBe(processOf(started));
  expect(payments()).toEqual([`$184 to butcher, by process ${processOf(decided)}`]);

  expect(run('decide', folder, 'approve')).toBe('Nothing is pending.\n');
  expect(payments()).toHaveLength(1);
});

test('rejected in another process, nothing is paid', () => {
  const { folder, run, payments } = setUp();
  run('start', folder);
  expect(run('decide', folder, 'reject')).toContain('I paid nothing.');
  expect(payments()).toEqual([]);
});

test('the saved file is plain JSON that shows the pending call', async () => {
  const { folder } = setUp();
  await start(butcherScript(), folder);
  const saved = JSON.parse(readFileSync(join(folder, 'messages.json'), 'utf8'));
  expect(saved).toMatchObject([
    { role: 'user', content: [{ text: 'Pay the butcher.' }] },
    { role: 'model', content: [{ toolRequest: { name: 'pay', input: { to: 'butcher', amount: 184 } } }] },
  ]);
});
