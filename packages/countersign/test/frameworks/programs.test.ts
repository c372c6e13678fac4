// The programs in examples/byo, run as a user runs them; the page of the frameworks leads to each.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../../..');

test.each(['openai-agents', 'genkit'])('%s: the program pauses, and pays once after it is approved', (name) => {
  const program = join(root, 'examples/byo', name, 'agent.ts');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-byo-'));
  const run = (...args: string[]) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    return stdout.trim().split('\n');
  };
  try {
    expect(run()).toEqual([expect.stringMatching(/^Waiting for a decision: Pay 950 to ACME \(gate\..+\)$/)]);
    expect(run('approve')).toEqual(['The bank pays 950 to ACME.', 'The tool says: Paid 950 to ACME.']);
    expect(existsSync(join(folder, 'paused.json'))).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(readFileSync(program, 'utf8').split('\n').length).toBeLessThan(60);
  expect(readFileSync(join(root, 'docs/reference/frameworks.md'), 'utf8')).toContain(`examples/byo/${name}`);
});

test('ai-sdk: the program pauses, and continues after the call was approved elsewhere', () => {
  const program = join(root, 'examples/byo/ai-sdk/agent.ts');
  const { stdout, stderr, status } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  expect(stdout).toBe('Waiting: pay {"to":"ACME","amount":950}\nPaid 950 to ACME.\n');
});
