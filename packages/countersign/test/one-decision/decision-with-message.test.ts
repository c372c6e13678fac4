// `chat.send({ prompt, resume })`: the decision and the message reach the model together, with and without a store.
import { type AgentConfig, approve, countersign, type ModelRequest, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

function one<T>(found: T | undefined): T {
  if (found === undefined) throw new Error('Not found.');
  return found;
}

const BOTH = [true, false] as const;
const said = (messages: ModelRequest['messages'], role: string) => messages.filter((m) => m.role === role).length;

/** A clerk that keeps paying until the user sends a second message. `first` are the calls of its first reply. */
function clerkWith(
  stored: boolean,
  whilePending: 'cancel' | 'queue' | 'refuse',
  first = ['a'],
  config: Partial<AgentConfig> = {},
) {
  const asked: string[] = [];
  const paid: string[] = [];
  const model = scriptedModel(({ messages }) => {
    asked.push(`${said(messages, 'user')} said, ${said(messages, 'tool')} answered`);
    const pays = (...to: string[]) => ({
      calls: to.map((to) => ({ name: to === 'rent' || to === 'fails' ? to : 'pay', ref: to, input: { to } })),
    });
    if (said(messages, 'tool') === 0) return pays(...first);
    return said(messages, 'user') < 2 ? pays('next') : 'Stopped, as you said.';
  });
  let now = Date.now();
  const store = memoryStore({ now: () => now });
  const ai = countersign({ model, retry: false, clock: () => now, ...(stored && { store }) });
  const inputSchema = z.object({ to: z.string() });
  const body = ({ to }: { to: string }) => {
    paid.push(to);
    return 'paid';
  };
  const pay = ai.defineTool({ name: 'pay', description: 'Pays.', inputSchema, needsApproval: true }, body);
  const rent = ai.defineTool(
    {
      name: 'rent',
      description: 'Paid unless somebody says no in time.',
      inputSchema,
      needsApproval: true,
      expiresIn: 1_000,
      onExpiry: 'approve',
    },
    body,
  );
  const fails = ai.defineTool({ name: 'fails', description: 'Fails.', inputSchema }, () => {
    throw new Error('no connection');
  });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, rent, fails], ...config });
  const chat = clerk.chat({ ...(stored && { runId: 't' }), whilePending });
  return { ai, clerk, chat, asked, paid, wait: (ms: number) => (now += ms) };
}

describe.each(BOTH)('stored: %s', (stored) => {
  test.each(['cancel', 'queue', 'refuse'] as const)(
    'the model receives the decision and the message together (%s)',
    async (whilePending) => {
      const { chat, asked, paid } = clerkWith(stored, whilePending);
      const paused = await chat.send('pay all');
      const { text } = await chat.send({ prompt: 'but stop after this one', resume: { approve: paused.interrupts } });
      expect(text).toBe('Stopped, as you said.');
      expect(asked).toEqual(['1 said, 0 answered', '2 said, 1 answered']);
      expect(paid).toEqual(['a']);
    },
  );

  test('a message cancels the undecided questions', async () => {
    const { chat, paid } = clerkWith(stored, 'cancel', ['a', 'b']);
    const [a] = (await chat.send('pay all')).interrupts;
    const { text, interrupts } = await chat.send({ prompt: 'only that', resume: { approve: one(a) } });
    expect({ text, interrupts, paid }).toEqual({ text: 'Stopped, as you said.', interrupts: [], paid: ['a'] });
  });

  test('a queued message waits with the undecided questions', async () => {
    const { chat, paid, asked } = clerkWith(stored, 'queue', ['a', 'b']);
    const [a, b] = (await chat.send('pay all')).interrupts;
    const still = await chat.send({ prompt: 'and then stop', resume: { approve: one(a) } });
    expect(still.interrupts.map(({ toolRequest }) => toolRequest.ref)).toEqual(['b']);
    expect(asked).toHaveLength(1);
    const { text } = await chat.send({ resume: { reject: one(b) } });
    expect({ text, paid }).toEqual({ text: 'Stopped, as you said.', paid: ['a'] });
  });

  test('a refused message leaves every question undecided', async () => {
    const { chat, paid } = clerkWith(stored, 'refuse', ['a', 'b']);
    const [a] = (await chat.send('pay all')).interrupts;
    await expect(chat.send({ prompt: 'only that', resume: { approve: one(a) } })).rejects.toMatchObject({
      code: 'decision-pending',
    });
    await new Promise(setImmediate);
    expect(chat.interrupts).toHaveLength(2);
    expect(paid).toEqual([]);
  });
});

test('a message is accepted once another process has decided the other question', async () => {
  const { ai, chat, paid } = clerkWith(true, 'refuse', ['a', 'b']);
  const [a] = (await chat.send('pay all')).interrupts;
  const [, b = ''] = (await ai.runs.get('t')).pending;
  const other = countersign({ store: ai.runs.store, retry: false });
  other.defineAgent({ name: 'clerk', model: scriptedModel([]) });
  await other.runs.decide(b, 'reject', { drive: false });
  const { text } = await chat.send({ prompt: 'and then stop', resume: { approve: one(a) } });
  expect({ text, paid }).toEqual({ text: 'Stopped, as you said.', paid: ['a'] });
});

test('the record names the approver and marks the other question withdrawn', async () => {
  const { ai, chat } = clerkWith(true, 'cancel', ['a', 'b']);
  const [a] = (await chat.send('pay all')).interrupts;
  await chat.send({ prompt: 'only that', resume: { approve: one(a) }, by: 'ann' });
  const { items } = await ai.runs.requests({ settled: true });
  const settled = items.map(({ part, settlement }) => [part.toolRequest.ref, settlement]);
  expect(settled).toEqual([
    ['a', expect.objectContaining({ decision: { type: 'approve' }, by: 'ann' })],
    ['b', expect.objectContaining({ withdrawn: true })],
  ]);
  expect((await ai.runs.verify('t')).ok).toBe(true);
});

test('a message with a decision that was already made is sent', async () => {
  const { ai, chat, paid } = clerkWith(true, 'cancel');
  const paused = await chat.send('pay all');
  const [card] = (await ai.runs.requests()).items;
  await ai.runs.decide(one(card).id, 'approve');
  await ai.runs.settled();
  const { text } = await chat.send({ prompt: 'stop now', resume: { approve: paused.interrupts } });
  expect({ text, paid }).toEqual({ text: 'Stopped, as you said.', paid: ['a'] });
});

test('an expired question is decided by its deadline before the message', async () => {
  const { chat, paid, asked, wait } = clerkWith(true, 'cancel', ['a', 'rent']);
  const [a] = (await chat.send('pay all')).interrupts;
  wait(2_000);
  await chat.send({ prompt: 'only that', resume: { approve: one(a) } });
  expect(paid.toSorted()).toEqual(['a', 'rent']);
  expect(asked).toEqual(['1 said, 0 answered', '2 said, 1 answered']);
});

test('the model receives both together in a run that failed beside the question', async () => {
  const { chat, asked } = clerkWith(true, 'cancel', ['a', 'fails'], { onToolError: 'throw' });
  await expect(chat.send('pay all')).rejects.toMatchObject({ name: 'UsageError', code: 'tool-failed' });
  await chat.send({ prompt: 'only that', resume: { approve: chat.interrupts } });
  expect(asked).toEqual(['1 said, 0 answered', '2 said, 1 answered']);
});

test('the `by` of the send replaces a `by` inside the decision, in the record and in its chain', async () => {
  const { ai, chat } = clerkWith(true, 'cancel');
  const paused = await chat.send('pay all');
  const forged = approve(one(paused.interrupts[0]), { by: 'the boss', note: 'fine' });
  await chat.send({ prompt: 'stop', resume: { approve: forged }, by: 'ann' });
  const made = (await ai.runs.recorded('t')).flatMap((event) =>
    event.type === 'decision-made' ? [event.decision] : [],
  );
  expect(made).toEqual([expect.objectContaining({ type: 'approve', by: 'ann', note: 'fine' })]);
  const [card] = (await ai.runs.requests({ settled: true })).items;
  expect(card?.settlement).toMatchObject({ by: 'ann', note: 'fine' });
});

test('the metadata of a resume is kept', async () => {
  const { chat } = clerkWith(true, 'cancel');
  const paused = await chat.send('pay all');
  const resume = { approve: paused.interrupts, metadata: { ticket: 7 } };
  const { messages } = await chat.send({ prompt: 'stop', resume });
  expect(messages.find(({ role }) => role === 'tool')?.metadata?.resumed).toEqual({ ticket: 7 });
});

test('a repeated decision returns the outcome of an ended run, and a message is still accepted', async () => {
  const { chat } = clerkWith(true, 'cancel', ['a'], { maxTurns: 1 });
  const paused = await chat.send('pay all');
  const resume = { approve: paused.interrupts };
  expect((await chat.send({ resume })).finishReason).toBe('max-turns');
  expect((await chat.send({ resume })).finishReason).toBe('max-turns');
  expect((await chat.send({ prompt: 'stop', resume })).text).toBe('Stopped, as you said.');
});

test('a decision for an unknown conversation starts no run', async () => {
  const { ai, clerk, chat } = clerkWith(true, 'cancel');
  const paused = await chat.send('pay all');
  const mistyped = clerk.chat({ runId: 'mistyped' });
  await expect(mistyped.send({ prompt: 'stop', resume: { approve: paused.interrupts } })).rejects.toMatchObject({
    code: 'unknown-run',
  });
  expect((await ai.runs.list()).items).toHaveLength(1);
});
