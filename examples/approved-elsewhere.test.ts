import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'approved-elsewhere-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const run = (command: string, ...given: readonly string[]) =>
    execFileSync(process.execPath, [join(import.meta.dirname, 'approved-elsewhere.ts'), command, folder, ...given], {
      encoding: 'utf8',
    });
  const payments = () => {
    const file = join(folder, 'payments.txt');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  };
  return { run, payments };
}

const processOf = (output: string) => /process (\d+)/i.exec(output)?.[1];

test('one process starts, another decides, a third pays, once', { timeout: 30_000 }, () => {
  const { run, payments } = setUp();

  const started = run('start');
  expect(started).toContain('1 call waits for a person');
  const decided = run('decide', 'approve');
  expect(decided).toContain('approve, 1 time(s)');
  expect(payments()).toEqual([]);

  const worked = run('work');
  expect(worked).toContain('pay was approved and returned {"status":"PAID"}');
  expect(payments()).toEqual([`$184 to butcher, by process ${processOf(worked)}`]);
  expect(new Set([started, decided, worked].map(processOf)).size).toBe(3);

  expect(run('decide', 'approve')).toContain('approve, 0 time(s)');
  expect(run('work')).toContain('drove on 0 run(s)');
  expect(payments()).toHaveLength(1);
});

test('rejected in another process, nothing is paid', { timeout: 30_000 }, () => {
  const { run, payments } = setUp();
  run('start');
  run('decide', 'reject');
  expect(run('work')).toContain('pay was rejected by a person. It did not run.');
  expect(payments()).toEqual([]);
});
