import {
  parseJsonEventStream,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from 'ai';
import { expect, test, vi } from 'vitest';
import { startServer, type TestServer, upTo } from './server.ts';

/** What `useChat` makes of the answer to a post. */
async function post(server: TestServer, token: string, agent: string, body: unknown): Promise<UIMessage | undefined> {
  const response = await fetch(`${server.url}/api/v1/chat/${agent}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  const parsed = parseJsonEventStream({ stream: response.body as never, schema: uiMessageChunkSchema });
  const chunks = parsed.pipeThrough(
    new TransformStream({
      transform(chunk: { success: boolean; value?: UIMessageChunk; error?: Error }, controller) {
        if (!chunk.success) throw chunk.error;
        controller.enqueue(chunk.value);
      },
    }),
  );
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: chunks as never })) last = message;
  return last;
}

const says = (id: string, text: string) => ({
  id,
  messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }],
});

test('a chat asks, is decided through the API, and shows the result', async () => {
  const server = await startServer();
  const token = await server.tokenFor('ann');
  const ask = await server.as('ann');
  const message = await post(server, token, 'teller', says('chat-1', 'pay bob 500'));
  const card = message?.parts.find(({ type }) => type === 'data-request') as { data: any } | undefined;
  expect(card?.data).toMatchObject({ tool: 'pay', status: 'pending', mayDecide: true });
  const listed = await ask('GET', '/api/v1/requests');
  expect(listed.body.items[0]).toMatchObject({ id: card?.data.id, digest: card?.data.digest, runId: 'chat-1' });
  await ask('POST', `/api/v1/requests/${card?.data.id}/decide`, {
    decision: { type: 'approve' },
    digest: card?.data.digest,
  });
  await server.ai.runs.wait('chat-1', { until: 'end' });
  const chat = await ask('GET', '/api/v1/chat/teller/chat-1');
  expect(chat.body).toMatchObject({ id: 'chat-1', status: 'done' });
  expect(JSON.stringify(chat.body.messages)).toContain('Done.');
  expect(server.paid).toHaveLength(1);
});

test('a decision in the chat is recorded with who made it and that it was the chat', async () => {
  const server = await startServer();
  const token = await server.tokenFor('ann');
  await post(server, token, 'teller', says('chat-2', 'pay bob 500'));
  const { pending } = await server.ai.runs.get('chat-2');
  const message = await post(server, token, 'teller', {
    id: 'chat-2',
    decisions: [{ requestId: pending[0], decision: { type: 'approve' } }],
  });
  expect(JSON.stringify(message)).toContain('Done.');
  const { settlement } = await server.ai.runs.request(pending[0] ?? '');
  expect(settlement).toMatchObject({ by: 'ann', channel: 'chat' });
});

test('one agent has not the chats of another, and an agent that is not there has none', async () => {
  const server = await startServer();
  const token = await server.tokenFor('ann');
  const ask = await server.as('ann');
  await post(server, token, 'parrot', says('chat-3', 'hello'));
  expect((await ask('GET', '/api/v1/chat/teller/chat-3')).status).toBe(404);
  expect((await ask('POST', '/api/v1/chat/teller', says('chat-3', 'hi'))).status).toBe(404);
  expect((await ask('POST', '/api/v1/chat/nobody', says('chat-4', 'hi'))).body.code).toBe('unknown-agent');
});

test('a post with too many parts is refused, and one without credentials before it is read', async () => {
  const server = await startServer();
  const part = { type: 'tool-a', toolCallId: 'c', state: 'output-available', output: 1 };
  const parts = Array.from({ length: 13_000 }, () => part);
  const body = JSON.stringify({ id: 'chat-1', messages: [{ id: 'm', role: 'assistant', parts }] });
  const sent = (headers: Record<string, string>, text: string) =>
    fetch(`${server.url}/api/v1/chat/teller`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    });
  expect((await sent({}, '{{{')).status).toBe(401);
  const refused = await sent({ authorization: `Bearer ${await server.tokenFor('ann')}` }, body);
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([413, 'too-large']);
});

test('an edit in the chat asks those who decide the edited input', async () => {
  const server = await startServer({ instance: { policyFor: upTo(500, 'ann') } });
  const token = await server.tokenFor('ann');
  await post(server, token, 'teller', says('chat-1', 'pay bob 500'));
  const decided = async (amount: number, id = 'chat-1') => {
    const [card] = (await server.ai.runs.requests({ runId: id })).items;
    return fetch(`${server.url}/api/v1/chat/teller`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        id,
        decisions: [{ requestId: card?.id, decision: { type: 'approve', edit: { to: 'bob', amount } } }],
      }),
    });
  };
  await (await decided(90_000)).text();
  expect((await server.ai.runs.requests()).items).toMatchObject([
    { input: { amount: 90_000 }, policies: [{ deciders: { people: ['boss'] } }] },
  ]);
  for (const amount of [90_000, 400]) expect((await decided(amount)).status).toBe(403);
  expect(server.paid).toEqual([]);
  await post(server, token, 'teller', says('chat-2', 'pay bob 300'));
  await (await decided(400, 'chat-2')).text();
  expect(server.paid).toEqual([{ to: 'bob', amount: 400 }]);
});

test('without the scope `read`, nothing is decided in a chat, also not beside a message', async () => {
  const server = await startServer();
  const scopes = ['start', 'decide'] as const;
  const token = await server.tokenFor('ann', { scopes });
  await post(server, token, 'teller', says('chat-1', 'pay bob 500'));
  const [card] = (await server.ai.runs.requests()).items;
  const decisions = [{ requestId: card?.id, decision: { type: 'approve' } }];
  const approved = {
    type: 'tool-pay',
    toolCallId: card?.part.toolRequest.ref,
    state: 'approval-responded',
    input: card?.input,
    approval: { id: card?.id, approved: true },
  };
  const { messages } = says('chat-1', 'look');
  const assistant = { id: 'm0', role: 'assistant', parts: [approved] };
  for (const body of [{ decisions }, { decisions, messages }, { messages: [assistant, ...messages] }]) {
    const answer = await fetch(`${server.url}/api/v1/chat/teller`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'chat-1', ...body }),
    });
    expect([answer.status, JSON.parse(await answer.text()).code]).toEqual([403, 'not-allowed']);
  }
  expect(server.paid).toEqual([]);
  expect((await server.ai.runs.get('chat-1')).status).toBe('waiting');
});

test('requests for a chat leave no timers behind', async () => {
  const LIFETIME_MS = 7_654_321;
  const server = await startServer({ streamLifetimeMs: LIFETIME_MS });
  const ask = await server.as('ann');
  await post(server, await server.tokenFor('ann'), 'teller', says('chat-1', 'hello'));
  const open = new Set<unknown>();
  const { setTimeout: start, clearTimeout: clear } = globalThis;
  const starts = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    const timer = start(run, ms);
    if (ms === LIFETIME_MS) open.add(timer);
    return timer;
  }) as never);
  const clears = vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    open.delete(timer);
    clear(timer as never);
  });
  const timeouts = vi.spyOn(AbortSignal, 'timeout');
  for (const path of ['chat-1', 'chat-1/stream', 'none', 'none/stream', 'none/watch'])
    await ask('GET', `/api/v1/chat/teller/${path}`);
  const watching = new AbortController();
  const watched = await fetch(`${server.url}/api/v1/chat/teller/chat-1/watch`, {
    headers: { authorization: `Bearer ${await server.tokenFor('ann')}` },
    signal: watching.signal,
  });
  expect([watched.status, open.size]).toEqual([200, 1]);
  watching.abort();
  await vi.waitFor(() => expect(open.size).toBe(0));
  expect(timeouts).not.toHaveBeenCalled();
  for (const spy of [starts, clears, timeouts]) spy.mockRestore();
});

test('a stream of a chat ends after its lifetime', async () => {
  const server = await startServer({ streamLifetimeMs: 50 });
  const token = await server.tokenFor('ann');
  await post(server, token, 'teller', says('chat-1', 'hello'));
  const watched = await fetch(`${server.url}/api/v1/chat/teller/chat-1/watch`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await watched.text()).toContain('"status":"done"');
});

test('a person who may decide in a chat, and not speak in it, cannot withdraw its requests', async () => {
  const server = await startServer({ instance: { policyFor: () => ({ deciders: { people: ['ben'] } }) } });
  const post = async (person: string, body: object) =>
    (await server.as(person))('POST', '/api/v1/chat/teller', { id: 'chat-1', ...body });
  await post('ann', says('chat-1', 'pay bob 500'));
  await post('ann', { messages: [{ id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Any news?' }] }] });
  const last = [{ id: 'x', role: 'assistant', parts: [] }];
  for (const body of [{ withdraw: true }, { withdraw: true, messages: last }])
    expect((await post('ben', body)).status).toBe(403);
  expect((await server.ai.runs.get('chat-1')).pending).toHaveLength(1);
  await post('ann', { withdraw: true, messages: last });
  expect((await server.ai.runs.get('chat-1')).pending).toEqual([]);
  expect(server.paid).toEqual([]);
});
