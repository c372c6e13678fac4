// Titles: computed once from the input that would run, recorded with the question, and never a reason to fail a call.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Approval, approve, countersign, memoryStore, tool, z } from 'countersign';
import { timelineOf } from 'countersign/request';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { requestCard } from 'countersign/ui';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { changedStore } from '../changed-store.ts';

const invoice = z.object({ to: z.string(), amount: z.number().default(950) });

type Asking = { readonly title?: unknown; readonly approval?: object; readonly input?: object; readonly store?: Store };

const modelThatPays = (input: object) =>
  scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'pay', input }] },
  );

function desk({ title, approval, input = { to: 'ACME' }, store = memoryStore() }: Asking) {
  const ai = countersign({ model: modelThatPays(input), store });
  const paid: unknown[] = [];
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: '',
      inputSchema: invoice,
      needsApproval: () => (approval as Approval | undefined) ?? true,
      ...(title !== undefined && { title: title as never }),
    },
    (given) => {
      paid.push(given);
      return 'paid';
    },
  );
  const agent = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const asked = async () => {
    const { id } = await agent.start('Pay.');
    const { pending } = await ai.runs.wait(id);
    return ai.runs.request(pending[0] ?? '');
  };
  return { ai, agent, asked, paid };
}

let warnings: string[] = [];
beforeEach(() => {
  warnings = [];
  vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)));
});
afterEach(() => vi.restoreAllMocks());

test('the title is a function of the validated input', async () => {
  const { ai, asked, paid } = desk({ title: ({ to, amount }: z.infer<typeof invoice>) => `Pay €${amount} to ${to}` });
  const request = await asked();
  expect(request).toMatchObject({ title: 'Pay €950 to ACME', input: { to: 'ACME', amount: 950 } });
  expect(requestCard(request, ai.agents.get('clerk'), true)).toMatchObject({
    title: 'Pay €950 to ACME',
    tool: 'pay',
  });
  await ai.runs.decide(request.id, 'approve');
  await ai.runs.wait(request.runId);
  expect(paid).toEqual([{ to: 'ACME', amount: 950 }]);
  expect(warnings).toEqual([]);
});

test('a text is the title of every request', async () => {
  expect(await desk({ title: ' Pay an\ninvoice ' }).asked()).toMatchObject({ title: 'Pay an invoice' });
});

test('without a title it is null, and nothing is recorded', async () => {
  const request = await desk({}).asked();
  expect(request.title).toBeNull();
  expect(request.part.metadata).not.toHaveProperty('title');
});

test('another process shows the recorded title, and does not compute it again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-titles-'));
  const path = join(folder, 'runs');
  const first = sqliteStore(path);
  const { id } = await desk({ title: () => 'Pay the old way', store: first }).asked();
  await first.close();
  const second = sqliteStore(path);
  const title = vi.fn(() => 'Pay the new way');
  const { runs } = desk({ title, store: second }).ai;
  expect(await runs.request(id)).toMatchObject({ title: 'Pay the old way' });
  expect((await runs.requests({ search: 'old way' })).items).toMatchObject([{ id, title: 'Pay the old way' }]);
  await runs.decide(id, { type: 'reject' }, { digest: (await runs.request(id)).digest });
  expect(await runs.request(id)).toMatchObject({ title: 'Pay the old way', settlement: { decision: {} } });
  expect(title).not.toHaveBeenCalled();
  await second.close();
  rmSync(folder, { recursive: true, force: true });
});

test('after an edit, the title is that of what ran, beside the earlier one', async () => {
  const { ai, asked, paid } = desk({ title: ({ amount }: { amount: number }) => `Pay €${amount}` });
  const { id, runId } = await asked();
  await ai.runs.decide(id, { type: 'approve', edit: { to: 'ACME', amount: 5 } });
  await ai.runs.wait(runId);
  expect(paid).toEqual([{ to: 'ACME', amount: 5 }]);
  expect(await ai.runs.request(id)).toMatchObject({
    title: 'Pay €5',
    earlierTitle: 'Pay €950',
    input: { amount: 950 },
  });
});

test('the timeline carries the title with the request and with its decision', async () => {
  const { ai, asked } = desk({ title: 'Pay the invoice' });
  const { id, runId } = await asked();
  await ai.runs.decide(id, 'approve');
  await ai.runs.wait(runId);
  const entries = timelineOf(await ai.runs.recorded(runId));
  const waits = entries.filter(({ type }) => type === 'wait-started' || type === 'wait-ended');
  expect(waits).toMatchObject([
    { type: 'wait-started', request: { shown: { title: 'Pay the invoice' } } },
    { type: 'wait-ended', request: { shown: { title: 'Pay the invoice' } } },
  ]);
});

test('a title that was changed in the store is refused', async () => {
  const store = memoryStore();
  const { asked } = desk({ title: 'Pay ACME', store });
  const { id } = await asked();
  const changed = changedStore(store, {
    request: async (key) => JSON.parse(JSON.stringify(await store.request(key)).replace('Pay ACME', 'Pay EMCA')),
  });
  await expect(desk({ store: changed }).ai.runs.request(id)).rejects.toMatchObject({ code: 'outdated-card' });
});

describe('a title that cannot be used is left out with a warning, and the request is asked', () => {
  test.each([
    [
      'a function that throws',
      () => {
        throw new Error('no rates');
      },
      'threw: no rates',
    ],
    ['a number', () => 950, 'must be a text, not 950'],
    ['null', () => null, 'must be a text, not null'],
    ['an object', () => ({ text: 'Pay' }), 'must be a text, not an object'],
    ['a promise', async () => 'Pay', 'must be a text, not a promise'],
    [
      'a promise that rejects',
      async () => {
        throw new Error('late');
      },
      'must be a text, not a promise',
    ],
  ])('%s', async (_what, title, problem) => {
    const { ai, asked, paid } = desk({ title });
    const request = await asked();
    expect(request.title).toBeNull();
    expect(warnings).toEqual([expect.stringContaining(problem)]);
    await ai.runs.decide(request.id, 'approve');
    await ai.runs.wait(request.runId);
    expect(paid).toEqual([{ to: 'ACME', amount: 950 }]);
  });

  test.each([
    ['undefined', () => undefined],
    ['an empty text', () => ' \n '],
  ])('%s means no title, without a warning', async (_what, title) => {
    expect((await desk({ title }).asked()).title).toBeNull();
    expect(warnings).toEqual([]);
  });
});

test.each([
  ['a long text', 'x'.repeat(201), `${'x'.repeat(199)}…`],
  ['a text of 200 characters, which fits', 'x'.repeat(200), 'x'.repeat(200)],
  ['a very long text', 'x '.repeat(5_000_000), `${'x '.repeat(99)}x…`],
  ['a text that is long once its hidden characters are shown', '\u202e'.repeat(30), `${'⟦U+202E⟧'.repeat(24)}…`],
  ['a text with an emoji where it is cut', `${'x'.repeat(198)}🏦🏦`, `${'x'.repeat(198)}…`],
])('%s is shortened to one line', async (_what, title, shown) => {
  expect((await desk({ title: () => title }).asked()).title).toBe(shown);
  expect(warnings).toEqual([]);
});

test('hidden characters are written as codes, spaces become one space, and emoji stay', async () => {
  const titleFor = async (to: string) =>
    (await desk({ title: (input: { to: string }) => `Pay ${input.to}`, input: { to } }).asked()).title;
  expect(await titleFor('ACME\u202e€059')).toBe('Pay ACME⟦U+202E⟧€059');
  expect(await titleFor('A\u200bC\0ME\u001b[31m')).toBe('Pay A⟦U+200B⟧C⟦U+0000⟧ME⟦U+001B⟧[31m');
  expect(await titleFor('950\u202f€\r\n\tnow')).toBe('Pay 950 € now');
  expect(await titleFor('half \ud83d')).toBe('Pay half ⟦U+D83D⟧');
  expect(await titleFor('👩‍👩‍👧 🏳️‍🌈 می‌خواهم')).toBe('Pay 👩‍👩‍👧 🏳️‍🌈 می‌خواهم');
});

test('a function that changes its input changes only its own copy', async () => {
  const title = (input: { amount: number }) => {
    input.amount = 1;
    return 'Pay';
  };
  const { ai, asked, paid } = desk({ title });
  const { id, runId, input } = await asked();
  expect(input).toEqual({ to: 'ACME', amount: 950 });
  await ai.runs.decide(id, 'approve');
  await ai.runs.wait(runId);
  expect(paid).toEqual([{ to: 'ACME', amount: 950 }]);
});

test('a function gets the types that the schema makes, which JSON does not have', async () => {
  const ai = countersign({
    store: memoryStore(),
    model: scriptedModel([{ calls: [{ name: 'book', input: { on: '2026-05-01' } }] }]),
  });
  const book = ai.defineTool(
    {
      name: 'book',
      description: '',
      inputSchema: z.object({ on: z.string().transform((text) => new Date(text)) }),
      inputJsonSchema: {},
      needsApproval: true,
      title: ({ on }) => `Book a room in ${on.getUTCFullYear()}`,
    },
    () => 'booked',
  );
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [book] }).start('Book.');
  const { pending } = await ai.runs.wait(id);
  expect(await ai.runs.request(pending[0] ?? '')).toMatchObject({ title: 'Book a room in 2026' });
});

test('the gate can give a title of its own, which replaces that of the tool', async () => {
  const request = await desk({ title: 'Pay', approval: { title: 'Pay a new payee', message: 'Sure?' } }).asked();
  expect(request.title).toBe('Pay a new payee');
  expect(requestCard(request, undefined, true).payload).toEqual({ message: 'Sure?' });
});

test('an invalid title of the gate falls back to that of the tool', async () => {
  const request = await desk({ title: 'Pay', approval: { title: { text: 'Pay' } } }).asked();
  expect(request.title).toBe('Pay');
  expect(warnings).toHaveLength(1);
});

test('a body that asks can give a title', async () => {
  const ai = countersign({ store: memoryStore(), model: modelThatPays({}) });
  const pay = ai.defineTool({ name: 'pay', description: '', title: 'Pay' }, (_input, { interrupt }) =>
    interrupt({ accounts: ['a', 'b'] }, { title: 'Choose an account' }),
  );
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.');
  const { pending } = await ai.runs.wait(id);
  expect(await ai.runs.request(pending[0] ?? '')).toMatchObject({ title: 'Choose an account', kind: 'interrupt' });
});

test('a question of the model has a title', async () => {
  const ai = countersign({
    store: memoryStore(),
    model: scriptedModel([{ calls: [{ name: 'ask', input: { about: 'tea' } }] }]),
  });
  const ask = ai.defineInterrupt({
    name: 'ask',
    description: '',
    inputSchema: z.object({ about: z.string(), times: z.number().default(2) }),
    title: ({ about, times }) => `Choose ${about} ${times} times`,
  });
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [ask] }).start('Ask.');
  const { pending } = await ai.runs.wait(id);
  expect(await ai.runs.request(pending[0] ?? '')).toMatchObject({ title: 'Choose tea 2 times', kind: 'question' });
});

test('the request of a sub-agent has its title at the root', async () => {
  const model = scriptedModel(({ messages, tools }) => {
    if (messages.some(({ role }) => role === 'tool')) return 'Done.';
    return {
      calls: [
        tools.some(({ name }) => name === 'pay')
          ? { name: 'pay', input: { to: 'ACME' } }
          : { name: 'clerk', input: { prompt: 'Pay.' } },
      ],
    };
  });
  const ai = countersign({ store: memoryStore(), model });
  const pay = tool(
    { name: 'pay', description: '', inputSchema: invoice, needsApproval: true, title: ({ to }) => `Pay ${to}` },
    () => 'paid',
  );
  const clerk = ai.defineAgent({ name: 'clerk', description: 'Pays.', tools: [pay] });
  const { id } = await ai.defineAgent({ name: 'boss', tools: [clerk] }).start('Pay.');
  const { pending } = await ai.runs.wait(id);
  const request = await ai.runs.request(pending[0] ?? '');
  expect(request).toMatchObject({ tool: 'pay', title: 'Pay ACME' });
  expect(requestCard(request, ai.agents.get('boss'), true).title).toBe('Pay ACME');
});

test.each([
  ['keeps the title', { type: 'approve' } as const, 'Pay €950 to ACME'],
  ['loses the title of another input', { type: 'approve', edit: { to: 'ACME', amount: 5 } } as const, null],
])('a request whose tool is gone %s', async (_what, decision, title) => {
  const store = memoryStore();
  const { ai, asked } = desk({ title: 'Pay', approval: { title: 'Pay €950 to ACME' }, store });
  const { id, runId } = await asked();
  await ai.runs.decide(id, decision, { drive: false });
  const without = countersign({ store, model: modelThatPays({}) });
  without.defineAgent({ name: 'clerk', tools: [] });
  await without.runs.drive(runId);
  const { pending } = await without.runs.wait(runId);
  expect(await without.runs.request(pending[0] ?? '')).toMatchObject({ kind: 'unavailable', title });
});

test('a request about an unknown outcome has the title of the input that ran', async () => {
  const stop = new AbortController();
  const ai = countersign({ model: modelThatPays({ to: 'ACME' }) });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: '',
      inputSchema: invoice,
      needsApproval: true,
      title: ({ to, amount }) => `Pay €${amount} to ${to}`,
    },
    () => {
      stop.abort();
      return new Promise<never>(() => undefined);
    },
  );
  const tools = [pay];
  const asked = await ai.generate({ prompt: 'Pay.', tools });
  const [request] = asked.interrupts;
  if (!request) throw new Error('Nothing was asked.');
  const edited = approve(request, { edit: { to: 'ACME', amount: 5 } });
  const aborted = await ai.generate({
    ...{ messages: asked.messages, tools, abortSignal: stop.signal },
    resume: { approve: [edited] },
  });
  const { interrupts } = await ai.generate({ messages: aborted.messages, tools });
  expect(interrupts[0]?.metadata).toMatchObject({ interruptKind: 'doubt', title: 'Pay €5 to ACME' });
});

test('metadata of the model cannot set a title', async () => {
  const ai = countersign({
    store: memoryStore(),
    model: scriptedModel([
      { content: [{ toolRequest: { name: 'pay', ref: 'a', input: {} }, metadata: { title: 'Harmless' } }] },
    ]),
  });
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [pay] }).start('Pay.');
  const { pending } = await ai.runs.wait(id);
  expect((await ai.runs.request(pending[0] ?? '')).title).toBeNull();
});

test('without a store, the interrupt carries its title and keeps it in its messages', async () => {
  const ai = countersign({ model: modelThatPays({ to: 'ACME' }) });
  const pay = ai.defineTool(
    { name: 'pay', description: '', inputSchema: invoice, needsApproval: true, title: ({ to }) => `Pay ${to}` },
    () => 'paid',
  );
  const { interrupts, messages } = await ai.generate({ prompt: 'Pay.', tools: [pay] });
  expect(interrupts[0]?.metadata?.title).toBe('Pay ACME');
  const again = await ai.generate({ messages: JSON.parse(JSON.stringify(messages)), tools: [pay] });
  expect(again.interrupts[0]?.metadata?.title).toBe('Pay ACME');
});

test.each(['', 'x'.repeat(201), 5, {}])('a tool with %o as its title cannot be defined', (title) => {
  expect(() => tool({ name: 'pay', description: '', title: title as never }, () => 1)).toThrow(
    /`title` of the tool pay must be a text of 1 to 200 characters, or a function/,
  );
});
