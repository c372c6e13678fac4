// A reply requested again, with a store: its message is posted again, edited, or regenerated.
import { generateText, tool } from 'ai';
import { countersign, memoryStore } from 'countersign';
import { gateTools, type SdkGateOptions } from 'countersign/ai-sdk';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { testServer } from '../stores/postgres-server.ts';
import { type ChatMessage, changed, userMessage } from './bank.ts';
import { toolsOf } from './conversation.ts';
import { saying } from './model.ts';
import { open } from './run-attacks.ts';

const who = { key: 'chat-1', by: 'ann' };

const lastPrompt = (prompts: readonly unknown[]): string => JSON.stringify(prompts.at(-1));

type ChatOptions = Partial<SdkGateOptions> & { readonly store?: Store };

async function openChat({ store = memoryStore(), ...options }: ChatOptions = {}) {
  const bank = await open({
    way: 'approval',
    gate: (tools, who) => gateTools(tools, { ...who, ...options, ai: countersign({ store }) }),
  });
  return { ...bank, waiting: () => waitingIn(store), store };
}

async function waitingIn(store: Store): Promise<readonly unknown[]> {
  const { items } = await countersign({ store }).runs.requests();
  return items.map(({ part }) => part.toolRequest.ref).sort();
}

const postgres = await testServer();

test.each<readonly [string, () => Store | Promise<Store>]>([
  ['in memory', () => memoryStore()],
  ['in SQLite', () => sqliteStore(':memory:')],
  ...(postgres ? [['in PostgreSQL', async () => postgresStore(await postgres.freshDatabase())] as const] : []),
])(
  'a question that never reached the page is withdrawn when its message is posted again, %s',
  async (_where, openStore) => {
    const store = await openStore();
    onTestFinished(() => store.close());
    const { post, decided, waiting, moved, prompts } = await openChat({ store });
    const said = [userMessage('pay')];
    const lost = await post(said);
    const again = await post(said);
    expect(await waiting()).toEqual(['call-2']);
    await post(decided(lost.messages, true));
    expect(moved).toEqual([]);
    expect(lastPrompt(prompts)).toContain('The reply that asked for this call was generated again.');
    await post(decided(again.messages, true));
    expect(moved).toHaveLength(1);
  },
);

test.each([
  ['chat-1', /^chat chat-1$/],
  ['long'.repeat(200), /^chat [\w-]{22}$/],
  ['not\0kept', /^chat [\w-]{22}$/],
])('the questions of a chat carry its id as a label, or a digest of an unusable id: %#', async (key, label) => {
  const store = memoryStore();
  const ai = countersign({ store });
  const { model } = saying(() => ({ calls: [{ id: 'call-1', tool: 'pay', input: { amount: 10 } }] }));
  const gated = gateTools(toolsOf({ pay: vi.fn() }), { key, by: 'ann', ai });
  await generateText({ model, prompt: 'pay', tools: gated.tools });
  const { items } = await ai.runs.requests();
  expect(items.map(({ labels }) => labels)).toEqual([[expect.stringMatching(label)]]);
});

test('an edited message withdraws its earlier questions, even if the new reply asks nothing', async () => {
  const { post, waiting } = await openChat();
  const said = userMessage('pay');
  await post([said]);
  await post([{ ...said, parts: [{ type: 'text', text: 'Do nothing.' }] }]);
  expect(await waiting()).toEqual([]);
});

test('deciding part of a reply that was cut short withdraws the questions the page does not show', async () => {
  const { post, decided, waiting, moved } = await openChat();
  const { messages } = await post([userMessage('pay twice')]);
  expect(await waiting()).toEqual(['call-1', 'call-2']);
  const cut = changed(messages, (part) => (part.toolCallId === 'call-2' ? undefined : part));
  await post(decided(cut, true));
  expect(moved).toEqual([{ to: 'bob', amount: 10 }]);
  expect(await waiting()).toEqual([]);
});

test('an approval posted again withdraws the questions of the lost reply, and no question that another page shows', async () => {
  const { ask, approve, store } = requests();
  await ask('call-1', 10);
  await approve('call-1', 10);
  const approved = [answerOf('call-1', 10, 'approval-responded')];
  await ask('call-2', 20, approved);
  await ask('call-3', 20, approved);
  expect(await waitingIn(store)).toEqual(['call-3']);
  // An older page, which continues from the withdrawn question.
  await ask('call-4', 20, [answerOf('call-2', 20, 'approval-responded')]);
  expect(await waitingIn(store)).toEqual(['call-3', 'call-4']);
});

test.each<[string, (messages: ChatMessage[]) => ChatMessage[], { chat?: string; person?: string }]>([
  ['that is among the messages', (messages) => messages, {}],
  ['after another message', () => [userMessage('Hello.')], {}],
  ['in another chat', ([said]) => (said ? [said] : []), { chat: 'chat-2' }],
  ['of another person', ([said]) => (said ? [said] : []), { person: 'bob' }],
  ['where nothing says after what', (messages) => messages.slice(1).map((message) => ({ ...message, parts: [] })), {}],
  ['after a message without an id', ([said]) => (said ? [{ ...said, id: '' }] : []), {}],
])('a question %s stays', async (_where, posted, from) => {
  const { post, waiting } = await openChat();
  const { messages } = await post([userMessage('pay twice')]);
  await post(posted(messages), from).catch(() => undefined);
  expect(await waiting()).toEqual(expect.arrayContaining(['call-1', 'call-2']));
});

test('an approved call stays when its reply is requested again', async () => {
  const { post, waiting, store } = await openChat();
  const said = [userMessage('pay')];
  await post(said);
  const { runs } = countersign({ store });
  const [card] = (await runs.requests()).items;
  await runs.decide(card?.id ?? '', 'approve', { by: 'ann', drive: false });
  await post(said);
  expect(await waiting()).toEqual(['call-2']);
  expect((await runs.recorded(card?.runId ?? '')).map(({ type }) => type)).not.toContain('run-ended');
  expect((await runs.request(card?.id ?? '')).settlement).toMatchObject({ decision: { type: 'approve' } });
});

test('a question of this request stays when its messages are received twice', async () => {
  const store = memoryStore();
  const gated = gateTools({ pay: payTool(() => 'paid') }, { ...who, ai: countersign({ store }) });
  const said = [userMessage('pay')] as never[];
  await gated.receive(said);
  await (gated.tools.pay as any).onInputAvailable({ toolCallId: 'call-1', messages: [], input: { amount: 10 } });
  await gated.receive(said);
  expect(await waitingIn(store)).toEqual(['call-1']);
});

const payTool = (execute: (payment: { amount: number }) => string) =>
  tool({ inputSchema: z.object({ amount: z.number() }), needsApproval: true, execute });

/** A chat without a stream: the model's questions and the approvals each come in a separate request. */
function requests({ store = memoryStore(), ...options }: ChatOptions = {}) {
  const pay = vi.fn((_payment: { amount: number }) => 'paid');
  const gateOf = () => gateTools({ pay: payTool(pay) }, { ...who, ...options, ai: countersign({ store }) });
  const said = userMessage('pay');
  const ask = async (toolCallId: string, amount: number, messages: readonly ChatMessage[] = []) => {
    const gated = gateOf();
    await gated.receive([said, ...messages] as never[]);
    await (gated.tools.pay as any).onInputAvailable({ toolCallId, messages: [], input: { amount } });
  };
  const approve = async (toolCallId: string, amount: number) => {
    const gated = gateOf();
    await gated.receive([said, answerOf(toolCallId, amount, 'approval-responded')] as never[]);
    return (gated.tools.pay as any).execute({ amount }, { toolCallId, messages: [] });
  };
  return { ask, approve, pay, store };
}

function answerOf(toolCallId: string, amount: number, state: string): ChatMessage {
  const approval = { id: 'a', ...(state === 'approval-responded' && { approved: true }) };
  return { id: 'm', role: 'assistant', parts: [{ type: 'tool-pay', toolCallId, state, input: { amount }, approval }] };
}

test.each([10, 20])('a call with the same id and the amount %d becomes a new question', async (amount) => {
  const { ask, approve, pay, store } = requests();
  await ask('call_0', 10);
  await ask('call_0', amount);
  await ask('call_0', 30);
  await ask('call_0', amount);
  expect(await waitingIn(store)).toEqual(['call_0']);
  await expect(approve('call_0', 30)).rejects.toThrow('This is not the call of pay');
  expect(await approve('call_0', amount)).toBe('paid');
  expect(await approve('call_0', amount)).toBe('paid');
  expect(pay.mock.calls.map(([payment]) => payment)).toEqual([{ amount }]);
  // A call that has run is not asked again under its id.
  await expect(ask('call_0', amount)).rejects.toMatchObject({ code: 'run-exists' });
});

test.each([
  ['the same', []],
  ['another', [userMessage('Again.')]],
])('a call asked again after its question expired, after %s message, can be decided', async (_which, messages) => {
  let now = 1_000_000;
  const store = memoryStore({ now: () => now });
  const { ask, approve, pay } = requests({ store, asks: { pay: { expiresIn: 60_000 } } });
  await ask('call_0', 10);
  now += 61_000;
  await ask('call_0', 10, messages);
  expect(await approve('call_0', 10)).toBe('paid');
  expect(pay).toHaveBeenCalledOnce();
});

test('an id that the conversation already shows is not given to another call, even if its question expired', async () => {
  let now = 1_000_000;
  const store = memoryStore({ now: () => now });
  const { ask } = requests({ store, asks: { pay: { expiresIn: 60_000 } } });
  await ask('call_0', 10);
  now += 61_000;
  const expired = answerOf('call_0', 10, 'approval-requested');
  await expect(ask('call_0', 10, [expired, userMessage('And?')])).rejects.toMatchObject({ code: 'run-exists' });
});
