// Undo: a gated call of its own, at most one per call, whoever asks for it and however often.
import { type Countersign, countersign, memoryStore, type RunRequest, type ToolConfig, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store, Undoing } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../stores/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let files = 0;

const STORES: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(`${folder.path}/${++files}.db`)],
];

type Pay = { readonly to: string };
type Setup = {
  readonly store?: Store;
  readonly undo?: unknown;
  readonly calls?: readonly string[];
  readonly pay?: object;
};

function bank({ store = memoryStore(), calls = ['pay'], pay: config = {}, ...given }: Setup = {}) {
  const done: unknown[] = [];
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : { calls: calls.map((name, n) => ({ name, input: { to: `${name}${n}` } })) },
  );
  const ai: Countersign = countersign({ model, store, retry: false });
  const undo = 'undo' in given ? given.undo : (output: string, { to }: Pay) => void done.push(`undid ${output} ${to}`);
  const input = { description: '', inputSchema: z.object({ to: z.string() }) };
  const pay = ai.defineTool(
    {
      name: 'pay',
      ...input,
      title: ({ to }: Pay) => `Pay ${to}`,
      needsApproval: true,
      ...(undo ? { undo } : {}),
      ...config,
    } as unknown as ToolConfig,
    ({ to }: Pay) => {
      done.push(`paid ${to}`);
      return `receipt-${to}`;
    },
  );
  const book = ai.defineTool({ name: 'book', ...input, needsApproval: true }, () => 'booked');
  const look = ai.defineTool({ name: 'look', ...input }, () => 'seen');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, book, look] });
  const pending = async () => (await ai.runs.requests({ order: 'oldest' })).items;
  const approve = async (by = 'ben') => {
    for (const card of await pending()) await ai.runs.decide(card, 'approve', { by });
    await ai.runs.settled();
  };
  const run = async (by = 'ann') => {
    const { id } = await clerk.start('Pay.', { by });
    await ai.runs.wait(id);
    const asked = await pending();
    await approve();
    return { id, asked: asked[0] as RunRequest };
  };
  return { ai, clerk, runs: ai.runs, done, pending, approve, run };
}

const last = ({ steps }: Undoing) => steps.at(-1);

describe.each(STORES)('on %s', (_name, open) => {
  test('an undo is asked about, runs once it is approved, and has a record of its own', async () => {
    const { runs, run, done, pending, approve } = bank({ store: open() });
    const { id, asked } = await run();
    const first = await runs.undo(asked.id, { by: 'ann' });
    expect(first).toMatchObject({ runId: id, isDone: false, steps: [{ tool: 'pay', status: 'waits' }] });
    const [card] = await pending();
    expect(card).toMatchObject({
      id: last(first)?.requestId,
      tool: 'undo_pay',
      title: 'Undo: Pay pay0',
      agent: 'clerk',
      startedBy: 'ann',
      input: { input: { to: 'pay0' }, output: 'receipt-pay0' },
    });
    expect(done).toEqual(['paid pay0']);
    await approve();
    expect(done).toEqual(['paid pay0', 'undid receipt-pay0 pay0']);
    expect(await runs.undo(asked.id, { by: 'cy' })).toMatchObject({ isDone: true, steps: [{ status: 'undone' }] });
    const undoId = last(first)?.runId ?? '';
    expect((await runs.get(undoId)).status).toBe('done');
    expect(await runs.verify(undoId)).toMatchObject({ ok: true });
    const types = (await runs.recorded(undoId)).map(({ type }) => type);
    expect(types.indexOf('decision-made')).toBeLessThan(types.indexOf('call-started'));
    expect(types.indexOf('call-started')).toBeLessThan(types.indexOf('call-settled'));
  });

  test('whoever asks, in any process and however often, there is one undo', async () => {
    const store = open();
    const one = bank({ store });
    const others = [bank({ store }), bank({ store }), one];
    const { asked } = await one.run();
    const all = await Promise.all(
      ['ann', 'ben', 'cy', 'ann', 'ben'].map((by, index) => others[index % 3]?.runs.undo(asked.id, { by })),
    );
    expect(new Set(all.map((undoing) => undoing && last(undoing)?.requestId)).size).toBe(1);
    await one.approve();
    await Promise.all(others.map(({ runs }) => runs.undo(asked.id, { by: 'ann' })));
    await Promise.all(others.map(({ runs }) => runs.settled()));
    expect(others.flatMap(({ done }) => done).filter((line) => String(line).startsWith('undid'))).toHaveLength(1);
  });
});

test('a rejected undo stays rejected', async () => {
  const { runs, run, done, pending } = bank();
  const { asked } = await run();
  await runs.undo(asked.id, { by: 'ann' });
  const [card] = await pending();
  await runs.decide(card as RunRequest, { type: 'reject', reason: 'Keep it.' }, { by: 'ben' });
  await runs.settled();
  expect(last(await runs.undo(asked.id, { by: 'ben' }))).toMatchObject({
    status: 'rejected',
    message: expect.stringContaining('Keep it.'),
  });
  expect(done).toEqual(['paid pay0']);
});

test('the policies of the call decide its undo, and who asks for it is its requester', async () => {
  const policy = { deciders: { people: ['ben', 'cy'] }, notRequester: true, recallFor: 1 } as const;
  const { runs, run, pending, done } = bank({ pay: { needsApproval: { policy } } });
  const { asked } = await run();
  const wait = (await pending())[0];
  expect(wait).toMatchObject({ kind: 'recall' });
  await new Promise((resolve) => setTimeout(resolve, 5));
  await runs.drive(asked.runId);
  await runs.settled();
  await expect(runs.undo(asked.id, { by: 'eve' })).rejects.toMatchObject({ code: 'not-allowed' });
  await runs.undo(asked.id, { by: 'ben' });
  const [card] = await pending();
  expect(card).toMatchObject({
    requesters: ['ben'],
    policies: [{ deciders: { people: ['ben', 'cy'] }, notRequester: true }],
  });
  await expect(runs.decide(card as RunRequest, 'approve', { by: 'ben' })).rejects.toMatchObject({
    code: 'not-allowed',
  });
  await runs.decide(card as RunRequest, 'approve', { by: 'cy' });
  await runs.settled();
  expect(done).toEqual(['paid pay0', 'undid receipt-pay0 pay0']);
});

test('nobody edits what is undone', async () => {
  const { runs, run, pending } = bank();
  const { asked } = await run();
  await runs.undo(asked.id, { by: 'ann' });
  const [card] = await pending();
  const edit = { input: { to: 'me' }, output: 'another' };
  await expect(runs.decide(card as RunRequest, { type: 'approve', edit }, { by: 'ben' })).rejects.toMatchObject({
    code: 'invalid-resume',
  });
});

test.each([0, '', false, null])('an output of %j is undone like any other', async (output) => {
  const undone: unknown[] = [];
  const store = memoryStore();
  const ai = countersign({ model: scriptedModel([{ calls: [{ name: 'set', input: {} }] }, 'Done.']), store });
  const config = { name: 'set', description: '', inputSchema: z.object({}), needsApproval: true };
  const set = ai.defineTool({ ...config, undo: (given: unknown) => void undone.push(given) }, () => output);
  const { id } = await ai.defineAgent({ name: 'clerk', tools: [set] }).start('Set.', { by: 'ann' });
  const approve = async () => {
    await ai.runs.wait(id);
    for (const card of (await ai.runs.requests()).items) await ai.runs.decide(card, 'approve', { by: 'ben' });
    await ai.runs.settled();
  };
  await approve();
  await ai.runs.undo(id, { by: 'ann' });
  await approve();
  expect(undone).toEqual([output]);
});

test('a run is undone newest first, one after the other, and its look-ups are left alone', async () => {
  const { runs, run, approve, done } = bank({ calls: ['pay', 'look', 'pay'] });
  const { id } = await run();
  expect((await runs.undo(id, { by: 'ann' })).steps).toMatchObject([{ tool: 'pay', status: 'waits' }]);
  await approve();
  expect((await runs.undo(id, { by: 'ann' })).steps).toMatchObject([{ status: 'undone' }, { status: 'waits' }]);
  await approve();
  expect(await runs.undo(id, { by: 'ann' })).toMatchObject({ isDone: true });
  expect(done.slice(2)).toEqual(['undid receipt-pay2 pay2', 'undid receipt-pay0 pay0']);
});

test('the undo of a run stops at the first call that cannot be undone, and says where and why', async () => {
  const { runs, run, approve, done } = bank({ calls: ['pay', 'book', 'pay'] });
  const { id } = await run();
  await runs.undo(id, { by: 'ann' });
  await approve();
  const stopped = await runs.undo(id, { by: 'ann' });
  expect(stopped).toMatchObject({
    isDone: false,
    steps: [
      { tool: 'pay', status: 'undone' },
      { tool: 'book', status: 'no-undo' },
    ],
  });
  expect(last(stopped)?.message).toBe('book has no `undo` here. What it did stays.');
  expect(done.slice(2)).toEqual(['undid receipt-pay2 pay2']);
});

test('a run that has not ended is not undone, and a call that did not run has nothing to undo', async () => {
  const { runs, clerk, pending } = bank();
  const { id } = await clerk.start('Pay.', { by: 'ann' });
  await runs.wait(id);
  await expect(runs.undo(id, { by: 'ann' })).rejects.toMatchObject({ code: 'run-not-ended' });
  const [asked] = await pending();
  await runs.decide(asked as RunRequest, 'reject', { by: 'ben' });
  await runs.settled();
  await expect(runs.undo(asked?.id ?? '', { by: 'ann' })).rejects.toMatchObject({ code: 'not-undoable' });
  expect(await runs.undo(id, { by: 'ann' })).toEqual({ runId: id, isDone: true, steps: [] });
});

test('a call in doubt, and one that may have acted before it failed, are settled before they are undone', async () => {
  const { runs, ai } = bank();
  const failing = ai.defineTool({ name: 'fails', description: '', needsApproval: true, undo: () => undefined }, () => {
    throw new Error('The bank was slow.');
  });
  const model = scriptedModel([{ calls: [{ name: 'fails', input: {} }] }, 'Done.']);
  const { id } = await ai.defineAgent({ name: 'other', tools: [failing], model }).start('Go.', { by: 'ann' });
  await runs.wait(id);
  for (const card of (await runs.requests()).items) await runs.decide(card, 'approve', { by: 'ben' });
  await runs.settled();
  expect((await runs.undo(id, { by: 'ann' })).steps).toMatchObject([{ tool: 'fails', status: 'doubt' }]);
});

test('a call inside a sub-agent is undone too', async () => {
  const undone: unknown[] = [];
  const ai = countersign({ model: scriptedModel([]), store: memoryStore(), retry: false });
  const config = { name: 'pay', description: '', inputSchema: z.object({}), needsApproval: true };
  const pay = ai.defineTool({ ...config, undo: (output: string) => void undone.push(output) }, () => 'paid');
  const model = (name: string) =>
    scriptedModel([{ calls: [{ name, input: name === 'pay' ? {} : { prompt: 'Pay.' } }] }, 'Done.']);
  const deputy = ai.defineAgent({ name: 'deputy', description: 'Pays.', tools: [pay], model: model('pay') });
  const { id } = await ai
    .defineAgent({ name: 'clerk', tools: [deputy], model: model('deputy') })
    .start('Pay.', { by: 'ann' });
  const approve = async () => {
    await ai.runs.wait(id);
    for (const card of (await ai.runs.requests()).items) await ai.runs.decide(card, 'approve', { by: 'ben' });
    await ai.runs.settled();
  };
  await approve();
  await ai.runs.undo(id, { by: 'ann' });
  await approve();
  expect(undone).toEqual(['paid']);
  expect((await ai.runs.undo(id, { by: 'ann' })).isDone).toBe(true);
});

test('a call through a gate is undone with the undo of the tool that is defined here', async () => {
  const { runs, ai, done, approve } = bank();
  const tool = ai.defineTool(
    {
      name: 'wire',
      description: '',
      inputSchema: z.object({ to: z.string() }),
      needsApproval: true,
      undo: (output) => void done.push(output),
    },
    ({ to }) => `wired ${to}`,
  );
  const asked = await ai.gate(tool).request({ to: 'ACME' }, { key: 'k', by: 'ann' });
  await approve();
  await ai.gate(tool).request({ to: 'ACME' }, { key: 'k', by: 'ann', run: true });
  await runs.undo(asked.runId, { by: 'ann' });
  await approve();
  expect(done).toEqual(['wired ACME']);
});

test('a tool with undo is reversible by construction', async () => {
  const { pending, ai, clerk } = bank();
  await clerk.start('Pay.', { by: 'ann' });
  await ai.runs.settled();
  expect((await pending())[0]).toMatchObject({ reversibility: 'reversible', hasUndo: true });
  const config = { name: 'x', description: '', undo: () => undefined };
  expect(() => ai.defineTool({ ...config, reversibility: 'irreversible' }, () => 1)).toThrow(
    /has undo, so it is reversible/,
  );
  expect(() => ai.defineTool({ ...config, needsApproval: { reversibility: 'irreversible' } }, () => 1)).toThrow(
    /reversible/,
  );
});
