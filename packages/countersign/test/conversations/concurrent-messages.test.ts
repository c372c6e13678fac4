// Concurrent messages in one stored conversation: each sender gets the reply to their own message.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { countersign, memoryStore } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-at-once-'));
afterAll(() => rmSync(folder, { recursive: true }));

const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay'];

function office(store: Store) {
  const model = scriptedModel(({ messages }) => {
    const said = messages.findLast(({ role }) => role === 'user')?.content[0];
    const text = said && 'text' in said ? String(said.text) : '';
    if (text === 'ask') return { calls: [{ name: 'ask', input: {} }] };
    return `to ${text}`;
  });
  const ai = countersign({ model, store, retry: false });
  const ask = ai.defineInterrupt({ name: 'ask', description: '' });
  return { ai, clerk: ai.defineAgent({ name: 'clerk', tools: [ask] }) };
}

/** A slow store: other messages are sent and answered before a sender reads how its turn ended. */
function slowStore(): Store {
  const kept = memoryStore();
  return changedStore(kept, {
    read: async (...args) => {
      await delay(Math.random() * 10);
      return kept.read(...args);
    },
  });
}

describe.each([
  ['memory', () => memoryStore()],
  ['a slow store', () => slowStore()],
  ['SQLite', () => sqliteStore(join(folder, `${Math.random()}.db`))],
] as const)('on %s', (_name, open) => {
  test.each([1, 2])('each of several concurrent messages gets its reply, in %i processes', async (processes) => {
    const store = open();
    const offices = Array.from({ length: processes }, () => office(store));
    const clerkOf = (index: number) => offices[index % processes]?.clerk as (typeof offices)[0]['clerk'];
    const sent = NAMES.map((name, index) => clerkOf(index).chat({ runId: 'talk' }).send(name));
    const replies = await Promise.all(sent);
    expect(replies.map(({ text }) => text)).toEqual(NAMES.map((name) => `to ${name}`));
    for (const { messages, text } of replies) expect(messages.at(-1)?.content).toEqual([{ text }]);
    const { messages = [] } = (await offices[0]?.ai.runs.get('talk')) ?? {};
    expect(messages).toHaveLength(2 * NAMES.length);
    await store.close();
  });

  test('a sender whose message led to a question sees the state of the conversation after another message', async () => {
    const store = open();
    const { clerk } = office(store);
    const asking = clerk.chat({ runId: 'talk' }).send('ask');
    const [asked, said] = await Promise.all([asking, clerk.chat({ runId: 'talk' }).send('ada')]);
    expect(said.text).toBe('to ada');
    // The question is pending, or the other message has already withdrawn it.
    expect(asked.interrupts.length === 1 || asked.text === 'to ada').toBe(true);
    await store.close();
  });
});
