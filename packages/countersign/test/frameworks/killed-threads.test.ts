// A process is killed right after a payment, and another one continues its thread: without the gate and with it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild } from '../crash/children.ts';

test.each([
  ['langgraph', false, 'paid 10', 2],
  ['langgraph', true, 'doubt', 1],
  ['mastra', false, 'paid 10', 2],
  ['mastra', true, 'doubt', 1],
] as const)('%s, with the gate: %s', async (framework, gated, answer, payments) => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-killed-'));
  try {
    const start = () => startChild('../frameworks/killed-threads-child.ts', { framework, gated, folder });
    expect(await start().ended).toMatchObject({ signal: 'SIGKILL' });
    const second = start();
    expect(await second.line()).toBe(answer);
    await second.ended;
    expect(readFileSync(join(folder, 'paid'), 'utf8')).toBe('10\n'.repeat(payments));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
