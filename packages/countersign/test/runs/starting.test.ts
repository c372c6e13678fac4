// What a run can start with: a valid conversation without open calls, JSON values, and a unique id.
import { countersign, type Message, memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

function desk() {
  const model = scriptedModel(() => 'Hello.');
  const ai = countersign({ model, store: memoryStore(), retry: false });
  return { runs: ai.runs, clerk: ai.defineAgent({ name: 'clerk', system: 'You are a clerk.' }), model };
}

const user: Message = { role: 'user', content: [{ text: 'Pay.' }] };
const asks: Message = { role: 'model', content: [{ toolRequest: { name: 'pay', ref: 'p', input: {} } }] };
const answer: Message = { role: 'tool', content: [{ toolResponse: { name: 'pay', ref: 'p', output: 'paid' } }] };

test.each<readonly [string, unknown, string]>([
  ['something other than an array', 'Pay.', 'not an array'],
  ['a message with an unknown role', [{ role: 'nobody', content: [] }], 'its role is "nobody"'],
  ['a message without parts', [{ role: 'user', content: 'Pay.' }], 'its content is not an array'],
  ['a tool result without a call', [user, answer], 'follows no reply with a call'],
  ['a call without a result, followed by a reply', [user, asks, { role: 'model', content: [] }], 'has no answer'],
  ['an open call at the end', [user, asks], 'pay (p)'],
  ['an open call, followed by a user message', [user, asks, user], 'pay (p)'],
])('a start from %s is rejected', async (_name, messages, problem) => {
  const { clerk, runs, model } = desk();
  const starting = clerk.start({ messages: messages as readonly Message[] }, { runId: 'run' });
  await expect(starting).rejects.toMatchObject({
    name: 'UsageError',
    code: 'invalid-history',
    message: expect.stringContaining(problem),
  });
  await runs.settled();
  expect(model.requests).toHaveLength(0);
  await expect(runs.get('run')).rejects.toMatchObject({ code: 'unknown-run' });
});

const itself: { me?: unknown } = {};
itself.me = itself;
const deep = Array.from({ length: 10_000 }).reduce<unknown>((inner) => [inner], 1);

test.each<readonly [string, unknown, string]>([
  ['a bigint', { amount: 5n }, 'data.amount: a bigint is not JSON'],
  ['NaN', { amount: Number.NaN }, 'data.amount: NaN is not a JSON number'],
  ['a map', new Map(), 'a Map or Set is not JSON'],
  ['a cycle', itself, 'data.me: it refers to itself'],
  ['a value nested too deeply', deep, 'it is nested deeper than 500 levels'],
])('%s in a message is rejected, and nothing is recorded', async (_name, data, problem) => {
  const { clerk, runs, model } = desk();
  const parts = [{ data }] as never;
  const said = { role: 'user', content: parts } as const;
  const notJson = { name: 'UsageError', code: 'not-json', message: expect.stringContaining(problem) };
  await expect(clerk.start({ prompt: parts }, { runId: 'run' })).rejects.toMatchObject(notJson);
  await expect(clerk.start({ messages: [said] }, { runId: 'run' })).rejects.toMatchObject(notJson);
  await expect(clerk.chat({ runId: 'run' }).send(parts)).rejects.toMatchObject(notJson);
  await runs.settled();
  expect(model.requests).toHaveLength(0);
  await expect(runs.get('run')).rejects.toMatchObject({ code: 'unknown-run' });
});

test('the model receives the recorded message, even if its values change with each read', async () => {
  const { clerk, runs, model } = desk();
  let reads = 0;
  const data = { day: new Date(0), toss: { toJSON: () => ++reads } };
  const { id } = await clerk.start({ prompt: [{ data }] as never });
  await runs.wait(id);
  const said = [{ data: { day: '1970-01-01T00:00:00.000Z', toss: 1 } }];
  expect(model.requests[0]?.messages.at(-1)?.content).toEqual(said);
  expect((await runs.get(id)).messages.find(({ role }) => role === 'user')?.content).toEqual(said);
  expect(await runs.verify(id)).toMatchObject({ ok: true });
});

test('the `by` of a start has at most 512 characters on every store', async () => {
  const { clerk, runs, model } = desk();
  await clerk.start('Pay.', { runId: 'short', by: 'x'.repeat(512) });
  const starting = clerk.start('Pay.', { runId: 'long', by: 'x'.repeat(513) });
  await expect(starting).rejects.toMatchObject({
    code: 'invalid-options',
    message: expect.stringContaining('`by` can have at most 512 characters, not 513'),
  });
  await runs.settled();
  expect(model.requests).toHaveLength(1);
  await expect(runs.get('long')).rejects.toMatchObject({ code: 'unknown-run' });
});

test('an open call at the end is rejected even if a prompt follows', async () => {
  const { clerk } = desk();
  const starting = clerk.start({ messages: [user, asks], prompt: 'Well?' });
  await expect(starting).rejects.toMatchObject({
    code: 'invalid-history',
    message: expect.stringContaining('Answer it in a tool message, or leave out'),
  });
});

test('a conversation whose calls have no refs gets generated ones', async () => {
  const { clerk, runs, model } = desk();
  const nameless = (message: Message) => JSON.parse(JSON.stringify(message).replace('"ref":"p",', '')) as Message;
  const { id } = await clerk.start({ messages: [user, nameless(asks), nameless(answer)], prompt: 'Well?' });
  expect(await runs.wait(id)).toMatchObject({ status: 'done' });
  const refs = model.requests[0]?.messages.flatMap(({ content }) =>
    content.flatMap((part) =>
      'toolRequest' in part ? [part.toolRequest.ref] : 'toolResponse' in part ? [part.toolResponse.ref] : [],
    ),
  );
  expect(refs).toEqual([expect.any(String), expect.any(String)]);
  expect(new Set(refs).size).toBe(1);
});

test("two processes with equal generated ids do not take each other's runs", async () => {
  const store = memoryStore();
  const gate = Promise.withResolvers<void>();
  let began = 0;
  const opened = ['first', 'second'].map(() => {
    const model = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }, 'Paid.']);
    const ai = countersign({ model, store, retry: false, newId: () => 'same' });
    const pay = ai.defineTool({ name: 'pay', description: '', idempotent: true }, async () => {
      began += 1;
      await gate.promise;
      return 'paid';
    });
    return { ai, clerk: ai.defineAgent({ name: 'clerk', tools: [pay] }) };
  });
  const runs = await Promise.all(opened.map(({ clerk }) => clerk.start('Pay.')));
  expect(new Set(runs.map(({ id }) => id)).size).toBe(2);
  await eventually(async () => expect(began).toBe(2));
  for (const { id } of runs) for (const { ai } of opened) await ai.runs.drive(id);
  gate.resolve();
  for (const { ai } of opened) await ai.runs.settled();
  expect(began).toBe(2);
});
