// A message posted by a browser is recorded once and answered, even after lost responses and dead processes.

import { countersign, memoryStore } from 'countersign';
import type { Store } from 'countersign/store';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { chatRoute, type LoadedChat } from 'countersign/ui';
import { describe, expect, test, vi } from 'vitest';
import { afterStarts } from '../changed-store.ts';
import { eventually } from '../eventually.ts';
import { createClient } from './client.ts';
import { serveChat } from './server.ts';

const STUCK = new Promise<never>(() => undefined);

function open(store: Store, clock: () => number, dies = false) {
  const model = scriptedModel(({ messages }) => {
    if (dies) return STUCK;
    const said = messages.filter(({ role }) => role === 'user').flatMap(({ content }) => content);
    return `Heard: ${said.map((part) => ('text' in part ? part.text : '')).join(' ')}`;
  });
  const ai = countersign({ model, store, clock, retry: false });
  const route = chatRoute(ai.defineAgent({ name: 'clerk' }), { demo: true, client: 7 });
  const say = async (id: string, text: string) => {
    const messages = [{ id, role: 'user', parts: [{ type: 'text', text }] }];
    const body = JSON.stringify({ id: 'chat', trigger: 'submit-message', messages });
    const headers = { 'content-type': 'application/json' };
    const response = await route.POST(new Request('http://localhost/api/chat', { method: 'POST', headers, body }));
    return response.text();
  };
  const load = async () => {
    const response = await route.GET(new Request('http://localhost/api/chat/chat'));
    return ((await response.json()) as LoadedChat).messages;
  };
  return { runs: ai.runs, say, load };
}

test('a message in a chat whose process died resumes the run', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const dead = open(store, clock, true);
  void dead.say('m1', 'a');
  await eventually(async () => expect((await dead.runs.get('chat')).status).toBe('running'));
  now += 120_000;
  expect(await open(store, clock).say('m2', 'b')).toContain('Heard: a b');
});

test('a message posted again after a newer one is not recorded again', async () => {
  const clock = () => 1_000_000;
  const { runs, say } = open(memoryStore({ now: clock }), clock);
  await say('m1', 'a');
  await say('m2', 'b');
  await say('m1', 'a');
  const said = (await runs.get('chat')).messages.filter(({ role }) => role === 'user');
  expect(said.map(({ content }) => content)).toEqual([[{ text: 'a' }], [{ text: 'b' }]]);
});

test('an edited message sent again under its id is recorded once', async () => {
  const clock = () => 1_000_000;
  const { say, load } = open(memoryStore({ now: clock }), clock);
  await say('m1', 'a');
  await say('m2', 'b');
  expect(await say('m1', 'not a')).toContain('Heard: a b not a');
  await say('m1', 'not a');
  const said = (await load()).filter(({ role }) => role === 'user');
  expect(said.map(({ parts }) => parts[0]?.text)).toEqual(['a', 'b', 'not a']);
  expect(said.map(({ id }) => id)).toEqual([expect.any(String), 'm2', 'm1']);
  expect(said[0]?.id).not.toBe('m1');
});

test('a loaded file that is posted again is recorded once', async () => {
  const { post, load, runs } = openPaying(memoryStore(), Date.now, async () => 'paid');
  const parts = [
    { type: 'text', text: 'pay' },
    { type: 'file', url: 'https://example.com/bill' },
  ];
  await (await post({ messages: [{ id: 'm1', role: 'user', parts }] })).text();
  const [first] = await load();
  await (await post({ messages: [first] })).text();
  expect((await runs.get('chat')).messages.filter(({ role }) => role === 'user')).toHaveLength(1);
});

/** A chat whose model calls pay, by `refs`; `body` is its tool body, `thinks` runs before the last reply. */
function openPaying(store: Store, clock: () => number, body: () => Promise<string>, thinks = () => {}, refs = ['p']) {
  const model = scriptedModel(({ messages }) => {
    if (!messages.some(({ role }) => role === 'tool'))
      return { calls: refs.map((ref) => ({ name: 'pay', ref, input: {} })) };
    thinks();
    return 'Paid.';
  });
  const ai = countersign({ model, store, clock, retry: false });
  const pay = ai.defineTool({ name: 'pay', description: 'Pays.', needsApproval: true }, body);
  const route = chatRoute(ai.defineAgent({ name: 'clerk', tools: [pay] }), { demo: true, client: 7 });
  const post = async (content: object) => {
    const body = JSON.stringify({ id: 'chat', trigger: 'submit-message', ...content });
    const headers = { 'content-type': 'application/json' };
    return route.POST(new Request('http://localhost/api/chat', { method: 'POST', headers, body }));
  };
  const ask = async () => {
    const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'pay' }] }];
    await (await post({ messages })).text();
    const [card] = (await ai.runs.requests({ runId: 'chat' })).items;
    const part = { type: 'tool-pay', toolCallId: 'p', state: 'approval-responded', input: {} };
    const parts = [{ ...part, approval: { id: card?.id, approved: true } }];
    return { messages: [...messages, { id: 'chat.1', role: 'assistant', parts }] };
  };
  const load = async () => {
    const response = await route.GET(new Request('http://localhost/api/chat/chat'));
    return ((await response.json()) as LoadedChat).messages;
  };
  const fetch = async (...given: ConstructorParameters<typeof Request>) => route.POST(new Request(...given));
  return { ask, post, load, fetch, runs: ai.runs };
}

/** Approves in a process that dies while paying, `along` with other messages, and opens a new process much later. */
async function diedPaying(along: readonly object[] = [], refs = ['p']) {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const paid = vi.fn(() => STUCK);
  const open = () => openPaying(store, clock, paid, undefined, refs);
  const dead = open();
  const { messages } = await dead.ask();
  const posted = { messages: [...messages, ...along] };
  void dead.post(posted);
  await eventually(() => expect(paid).toHaveBeenCalledOnce());
  now += 120_000;
  return { paid, posted, ...open() };
}

test('a decision posted again after the process died gets a response, without a worker', async () => {
  const { post, posted, paid } = await diedPaying();
  expect(await (await post(posted)).text()).toContain('doubt');
  expect(paid).toHaveBeenCalledOnce();
});

test('a message after the process died does not withdraw the question that no page has shown', async () => {
  const { post, runs, paid } = await diedPaying();
  const say = (id: string, text: string) => post({ messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }] });
  expect(await (await say('m2', 'and?')).text()).toContain('doubt');
  expect((await runs.requests({ runId: 'chat' })).items).toMatchObject([{ kind: 'doubt' }]);
  // The same message, posted again.
  await (await say('m2', 'and?')).text();
  expect((await runs.requests({ runId: 'chat' })).items).toHaveLength(1);
  await (await say('m3', 'never mind')).text();
  expect((await runs.requests({ runId: 'chat' })).items).toEqual([]);
  expect(paid).toHaveBeenCalledOnce();
});

test('a message before the outcome of a call is known stays in the chat and is recorded once', async () => {
  const { post, runs, load } = await diedPaying();
  await (await post({ messages: [{ id: 'm2', role: 'user', parts: [{ type: 'text', text: 'and?' }] }] })).text();
  const shown = ['m1', 'm2', 'chat.1'];
  expect((await load()).map(({ id }) => id)).toEqual(shown);
  const [card] = (await runs.requests({ runId: 'chat' })).items;
  const decisions = [{ requestId: card?.id, decision: { type: 'respond', output: 'paid' } }];
  expect(await (await post({ decisions })).text()).toContain('Paid.');
  expect((await load()).map(({ id }) => id)).toEqual(shown);
  await (await post({ messages: [{ id: 'm3', role: 'user', parts: [{ type: 'text', text: 'thanks' }] }] })).text();
  expect((await load()).map(({ id }) => id)).toEqual([...shown, 'm3', expect.any(String)]);
});

test('a message from a page without the question about the outcome does not withdraw it', async () => {
  // The message comes with the approval, and neither gets a response.
  const said = { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'and quickly' }] };
  const { post, posted, runs, load, paid } = await diedPaying([said]);
  await runs.drive('chat');
  await (await post(posted)).text();
  expect((await runs.requests({ runId: 'chat' })).items).toMatchObject([{ kind: 'doubt' }]);
  // Now the page shows it.
  const more = { id: 'm3', role: 'user', parts: [{ type: 'text', text: 'never mind' }] };
  await (await post({ messages: [...(await load()), more] })).text();
  expect((await runs.requests({ runId: 'chat' })).items).toEqual([]);
  expect(paid).toHaveBeenCalledOnce();
});

describe.each([6, 7] as const)(
  'a page of `ai` %i that cuts a call off does not withdraw the doubt about it',
  (version) => {
    test.each<[string, (chat: any) => Promise<void>]>([
      ['regenerate', (chat) => chat.regenerate()],
      ['edit', (chat) => chat.sendMessage({ text: 'pay now', messageId: 'm1' })],
    ])('%s', async (_how, act) => {
      const { posted, runs, fetch, paid } = await diedPaying();
      // Another process takes the run over, and the page does not know it.
      await runs.drive('chat');
      await runs.settled();
      const { messages } = posted;
      const page = createClient(version, { api: 'http://localhost/api/chat', id: 'chat', messages, fetch });
      await act(page.chat);
      expect(page.cards.map(({ kind, status }) => [kind, status])).toContainEqual(['doubt', 'pending']);
      const [doubt] = (await runs.requests({ runId: 'chat' })).items;
      await page.post({ decisions: [{ requestId: doubt?.id, decision: { type: 'respond', output: 'paid' } }] });
      expect(page.text).toContain('Paid.');
      expect((await runs.get('chat')).status).toBe('done');
      expect(paid).toHaveBeenCalledOnce();
    });
  },
);

test('a message with a decision does not withdraw the question about another outcome', async () => {
  const { post, runs, load, paid } = await diedPaying([], ['p', 'q']);
  await runs.drive('chat');
  await runs.settled();
  const { items } = await runs.requests({ runId: 'chat' });
  const requestId = items.find(({ kind }) => kind === 'approval')?.id;
  const said = { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'not that one' }] };
  const decisions = [{ requestId, decision: { type: 'reject' } }];
  await (await post({ messages: [...(await load()), said], decisions })).text();
  expect((await runs.requests({ runId: 'chat' })).items).toMatchObject([{ kind: 'doubt' }]);
  expect(paid).toHaveBeenCalledOnce();
});

test.each([6, 7] as const)('an edited message withdraws its earlier calls (client %i)', async (version) => {
  const { fetch, runs } = openPaying(memoryStore(), Date.now, async () => 'paid');
  const client = createClient(version, { api: 'http://localhost/api/chat', id: 'chat', fetch });
  await client.chat.sendMessage({ text: 'pay' });
  expect(client.cards).toMatchObject([{ status: 'pending' }]);
  await client.chat.sendMessage({ text: 'do not pay', messageId: client.state.messages[0].id });
  expect((await runs.requests({ runId: 'chat' })).items).toEqual([]);
  const said = (await runs.get('chat')).messages.filter(({ role }) => role === 'user');
  expect(said.map(({ content }) => content)).toEqual([[{ text: 'pay' }], [{ text: 'do not pay' }]]);
});

test('a message edited after the model failed is recorded', async () => {
  let fails = true;
  const { ask, post, runs } = openPaying(
    memoryStore(),
    Date.now,
    async () => 'paid',
    () => {
      if (fails) throw new Error('overloaded');
    },
  );
  await (await post(await ask())).text();
  expect((await runs.get('chat')).status).toBe('failed');
  fails = false;
  await (await post({ messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'and?' }] }] })).text();
  const { status, messages } = await runs.get('chat');
  expect({ status, said: messages.filter(({ role }) => role === 'user').map(({ content }) => content) }).toEqual({
    status: 'done',
    said: [[{ text: 'pay' }], [{ text: 'and?' }]],
  });
});

test('a decision gets a response even if its claim expires on the way', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = afterStarts(memoryStore({ now: clock }), () => {
    now += 120_000;
  });
  const paid = vi.fn(async () => 'paid');
  const { ask, post } = openPaying(store, clock, paid);
  expect(await (await post(await ask())).text()).toContain('doubt');
  expect(paid).not.toHaveBeenCalled();
});

test('a decision posted again after the model failed resumes the run and stays one decision', async () => {
  let fails = true;
  const paid = vi.fn(async () => 'paid');
  const { ask, post, runs } = openPaying(memoryStore(), Date.now, paid, () => {
    if (fails) throw new Error('overloaded');
  });
  await ask();
  const [card] = (await runs.requests({ runId: 'chat' })).items;
  const decide = async (type: 'approve' | 'reject') => {
    await (await post({ messages: [], decisions: [{ requestId: card?.id, decision: { type } }] })).text();
    return (await runs.get('chat')).status;
  };
  expect(await decide('approve')).toBe('failed');
  fails = false;
  expect(await decide('reject')).toBe('failed');
  expect(await decide('approve')).toBe('done');
  expect(await decide('approve')).toBe('done');
  expect(paid).toHaveBeenCalledOnce();
});

test.each([6, 7] as const)(
  'a page of `ai` %i shows a doubt that its words left, once, and then the answer',
  async (version) => {
    const { fetch, load, runs } = await diedPaying();
    const messages = await load();
    const page = createClient(version, { api: 'http://localhost/api/chat', id: 'chat', messages, fetch });
    await page.say('and?');
    const shown = () => page.state.messages.map(({ id }) => id);
    expect(new Set(shown()).size).toBe(3);
    const cards = () =>
      page.state.messages.flatMap(({ parts }) => parts.filter(({ type }: any) => type === 'data-request'));
    expect(cards().map(({ data }) => [data.kind, data.status])).toEqual([
      ['approval', 'decided'],
      ['doubt', 'pending'],
    ]);
    const [doubt] = (await runs.requests({ runId: 'chat' })).items;
    await page.post({ decisions: [{ requestId: doubt?.id, decision: { type: 'respond', output: 'paid' } }] });
    expect(new Set(shown()).size).toBe(3);
    expect(JSON.stringify(page.state.messages)).toContain('Paid.');
    expect(page.state.error).toBeUndefined();
  },
);

test.each([6, 7] as const)('a user who writes during a reply sees only the next reply (client %i)', async (version) => {
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const first = async () => {
    begun.resolve();
    await mayEnd.promise;
    return 'Slow.';
  };
  const { url, ai } = await serveChat({ script: [first, 'Next.'] });
  const page = createClient(version, { api: url, id: 'chat' });
  const slow = page.say('one');
  await begun.promise;
  await page.chat.stop();
  await slow;
  const listens = vi.spyOn(internalsOf(ai.runs), 'speak');
  const next = page.say('two');
  await eventually(() => expect(listens).toHaveBeenCalled());
  mayEnd.resolve();
  await next;
  expect(page.text).toBe('Next.');
});
