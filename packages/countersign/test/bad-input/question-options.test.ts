// Questions with invalid options: an error of the tool, found before anyone is asked, and no run gets stuck.
import { type AskOptions, type Countersign, countersign, memoryStore, tool, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { eventually } from '../eventually.ts';

const odd: readonly (readonly [string, object])[] = [
  ['expiresIn is not a number', { expiresIn: 'soon' }],
  ['expiresIn is NaN', { expiresIn: Number.NaN }],
  ['expiresIn never ends', { expiresIn: Number.POSITIVE_INFINITY }],
  ['expiresIn is negative', { expiresIn: -1 }],
  ['remindAfter is NaN', { remindAfter: Number.NaN }],
  ['onExpiry is unknown', { expiresIn: 1_000, onExpiry: 'explode' }],
  ['risk is an object', { risk: {} }],
  ['labels is a text', { labels: 'money' }],
  ['a label is an object', { labels: [{}] }],
  ['a label has a NUL', { labels: ['a\0b'] }],
  ['a label is half a character', { labels: ['\ud800'] }],
  ['a label is too long to be looked up by', { labels: ['x'.repeat(513)] }],
];

type Asks = AskOptions & { readonly message?: string };

function desk(store: Store, asks: Asks, clock = Date.now) {
  let asked = 0;
  const model = scriptedModel(async ({ messages }) => {
    asked += 1;
    // As over a network, so that the start is written separately.
    await new Promise((resolve) => setTimeout(resolve, 5));
    return messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay' }, { name: 'ask' }] };
  });
  const ai = countersign({ model, store, retry: false, clock });
  const ran: string[] = [];
  const tools = define(ai, asks, ran);
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', tools }), ran, asked: () => asked };
}

const define = (ai: Countersign, asks: Asks, ran: string[]) => [
  ai.defineTool({ name: 'pay', description: '', needsApproval: () => ({ message: 'Pay?', ...asks }) }, () => {
    ran.push('pay');
  }),
  ai.defineTool({ name: 'ask', description: '' }, (_input, { interrupt }) => interrupt('Well?', asks)),
];

describe.each([
  ['memory', (now = Date.now) => memoryStore({ now })],
  ['SQLite', (now = Date.now) => sqliteStore({ path: ':memory:', now })],
] as const)('on %s', (_name, open) => {
  test.each(odd)('%s: no question is asked, nothing runs, and the model learns why', async (_what, asks) => {
    const store = open();
    const { runs, clerk, ran, asked } = desk(store, asks as Asks);
    const worker = runs.work({ pollMs: 20 });
    const { id } = await clerk.start('Go.');
    const run = await runs.wait(id);
    await worker.stop();
    expect(run).toMatchObject({ status: 'done', text: 'Done.' });
    expect(JSON.stringify(run.messages)).toMatch(/Invalid question options from pay/);
    expect(JSON.stringify(run.messages)).toMatch(/Invalid question options from ask/);
    expect([ran, asked()]).toEqual([[], 2]);
    await store.close();
  });

  test('metadata of the model that is not JSON hides no question and damages no record', async () => {
    const store = open();
    const odd = { when: new Date(0), list: [undefined, 1], map: new Map(), many: 10n, number: Number.NaN, kept: 'yes' };
    const model = scriptedModel([
      {
        content: [
          { text: 'Well.', metadata: odd },
          { data: { many: 10n } as never },
          { toolRequest: { name: 'pay', ref: 10n as never, input: {} }, metadata: odd },
        ],
      },
      'Done.',
    ]);
    const ai = countersign({ model, store, retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
    const { id } = await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Go.');
    const waiting = await ai.runs.wait(id);
    const beside = { when: '1970-01-01T00:00:00.000Z', list: [null, 1], kept: 'yes' };
    expect(waiting.messages[1]?.content).toMatchObject([
      { text: 'Well.', metadata: beside },
      { data: { problem: expect.stringMatching(/bigint/) } },
      { toolRequest: { name: 'pay' } },
    ]);
    const [card] = (await ai.runs.requests()).items;
    expect(card?.part.metadata).toMatchObject(beside);
    await ai.runs.decide(card?.id ?? '', 'approve', { digest: card?.digest ?? '' });
    expect(await ai.runs.wait(id)).toMatchObject({ status: 'done' });
    expect(await ai.runs.verify(id)).toMatchObject({ ok: true });
    await store.close();
  });

  test('a misspelt deadline in a body is an error, not a question without a deadline', async () => {
    const store = open();
    const ai = countersign({
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'ask' }] },
      ),
      store,
      retry: false,
    });
    const misspelt = { expireIn: 5 } as AskOptions;
    const ask = ai.defineTool({ name: 'ask', description: '' }, (_input, { interrupt }) =>
      interrupt('Well?', misspelt),
    );
    const { id } = await ai.defineAgent({ name: 'clerk', tools: [ask] }).start('Go.');
    const run = await ai.runs.wait(id);
    expect(run.status).toBe('done');
    expect(JSON.stringify(run.messages)).toMatch(
      /Invalid question options from ask: `interrupt` has no option expireIn \(it takes expiresIn/,
    );
    await store.close();
  });

  test('half a millisecond is rounded up', async () => {
    const store = open();
    const { runs, clerk } = desk(store, { expiresIn: 60_000.5, remindAfter: 0.5 });
    const { id } = await clerk.start('Go.');
    expect((await runs.wait(id)).pending).toHaveLength(2);
    const [card] = (await runs.requests()).items;
    expect([card?.expiresAt, ...(card?.reminders ?? [])].map(Number.isInteger)).toEqual([true, true]);
    await runs.settled();
    await store.close();
  });

  test('a run with an event that cannot be stored fails, reports it, and is not retried endlessly', async () => {
    let now = 1_000_000;
    const clock = () => now;
    const real = open(clock);
    const store = changedStore(real, {
      append: async (append) => {
        if (append.opened.length > 0) throw new TypeError('This cannot be kept.');
        return real.append(append);
      },
    });
    const { runs, clerk, asked } = desk(store, {}, clock);
    const worker = runs.work({ pollMs: 20 });
    const { id } = await clerk.start('Go.');
    await eventually(async () => expect((await runs.get(id)).status).toBe('failed'));
    // Any remaining claim has expired.
    now += 600_000;
    await new Promise((resolve) => setTimeout(resolve, 300));
    await worker.stop();
    expect((await runs.get(id)).error).toMatchObject({ message: 'This cannot be kept.' });
    expect(asked()).toBe(1);
    await real.close();
  });
});

test.each(odd)('a tool with such options is rejected: %s', (_name, asks) => {
  expect(() => tool({ name: 'pay', description: '', inputSchema: z.object({}), ...asks }, () => 'paid')).toThrow(
    /`\w+` of the tool pay must be /,
  );
});

test("an undefined question option falls back to the tool's option", async () => {
  const asks = { expiresIn: 1_000, labels: ['money'], risk: 'high' } as const;
  const model = scriptedModel([{ calls: [{ name: 'pay' }] }]);
  const now = () => 5_000;
  const ai = countersign({ model, store: memoryStore({ now }), clock: now });
  const pay = ai.defineTool({ name: 'pay', description: '', ...asks }, (_input, { interrupt }) =>
    interrupt('Well?', { expiresIn: undefined, labels: undefined, risk: undefined } as object),
  );
  await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Go.');
  await ai.runs.settled();
  const { items } = await ai.runs.requests();
  expect(items).toMatchObject([{ expiresAt: 6_000, labels: ['money'], risk: 'high' }]);
});
