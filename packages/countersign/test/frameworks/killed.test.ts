// A process is killed with SIGKILL right after the effect, and another one resumes the saved pause.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { countersign } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite.ts';
import { startChild } from '../crash/children.ts';
import { converse, type DyingOptions, LEASE_MS } from './dying-child.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-frameworks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(['openai-agents', 'genkit'] as const)(
  '%s: after a kill a person is asked and nothing runs again; without the gate the call runs again',
  async (framework) => {
    const [path, effects] = [join(folder, `${framework}.db`), join(folder, `${framework} effects`)];
    const pay = (who: string) => () => {
      appendFileSync(effects, `${who}\n`);
      return 'paid';
    };
    const ai = countersign({ store: sqliteStore(path), leaseMs: LEASE_MS });
    const { saved: gated } = await converse(framework, path, pay('gated'));
    const { saved: bare } = await converse(framework, undefined, pay('bare'));
    await ai.runs.decide((await ai.runs.requests()).items[0]?.id ?? '', 'approve');

    const child = startChild('../frameworks/dying-child.ts', { framework, path, effects, gated, bare } as DyingOptions);
    expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
    const lines = () => readFileSync(effects, 'utf8').trim().split('\n').toSorted();
    expect(lines()).toEqual(['bare', 'gated']);

    expect(await converse(framework, undefined, pay('bare'), bare)).toMatchObject({ text: 'paid' });
    expect(await converse(framework, path, pay('gated'), gated)).toMatchObject({ waits: 1 });
    const [doubt] = (await ai.runs.requests()).items;
    expect(doubt?.kind).toBe('doubt');
    await ai.runs.decide(doubt?.id ?? '', { type: 'respond', output: 'paid, says the bank' });
    expect(await converse(framework, path, pay('gated'), gated)).toMatchObject({ text: 'paid, says the bank' });
    expect(lines()).toEqual(['bare', 'bare', 'gated']);
  },
);
