// The options of a chat route: a security option is valid or rejected.
import { countersign, memoryStore } from 'countersign';
import { type ChatRouteOptions, chatRoute } from 'countersign/ui';
import { expect, test, vi } from 'vitest';
import { createClient } from './client.ts';
import { post, SECRET, serveChat } from './server.ts';

const agent = countersign({ store: memoryStore() }).defineAgent({ name: 'teller' });
const route = (options: object) => chatRoute(agent, { demo: true, ...options } as ChatRouteOptions);

test.each([
  [{ mayDecide: () => false }, '`chatRoute` has no option mayDecide (it takes '],
  [{ origins: [] }, '`chatRoute` has no option origins (it takes '],
  [{ mayRead: true }, '`mayRead` of `chatRoute` must be a function'],
  [{ whilePending: 'refused' }, '`whilePending` of `chatRoute` must be one of auto, cancel, queue, refuse'],
  [{ sealExpiresInMs: '60000' }, '`sealExpiresInMs` of `chatRoute` must be a number of milliseconds above 0'],
  [{ sealExpiresInMs: Number.NaN }, '`sealExpiresInMs` of `chatRoute` must be a number'],
  [{ sealExpiresInMs: 0 }, '`sealExpiresInMs` of `chatRoute` must be a number'],
  [{ allowedOrigins: 'https://app.example.com' }, '`allowedOrigins` of `chatRoute` must be an array of strings'],
  [{ allowedOrigins: [/example/] }, '`allowedOrigins` of `chatRoute` must be an array of strings'],
])('%o is rejected', (options, message) => {
  const refused = { code: 'invalid-options', message: expect.stringContaining(message) };
  expect(() => route(options)).toThrow(expect.objectContaining(refused));
});

test('undefined options count as omitted', () => {
  const none = { mayRead: undefined, whilePending: undefined, sealExpiresInMs: undefined, allowedOrigins: undefined };
  expect(route(none)).toBeDefined();
});

test('with a clock that returns no time, no sealed call can be decided', async () => {
  const { url, ledger } = await serveChat({
    script: [{ calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] }, 'Paid.'],
    store: false,
    route: { secret: SECRET, clock: () => Number.NaN },
  });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Pay bob 500');
  const decisions = [{ requestId: client.cards[0].id, decision: { type: 'approve' } }];
  expect((await post(url, { id: 'chat-1', messages: client.state.messages, decisions })).status).toBe(403);
  expect(ledger).toEqual([]);
});

const said = { id: 'chat-1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }] };
const posted = (body: object) =>
  new Request('http://app.test/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test.each([[null], [undefined], [{ id: '' }], [{ id: null }], [{ id: 7 }], [{ userId: 'ada' }], ['ada']])(
  '401 if `authorize` returns %o',
  async (person) => {
    const authorize = (() => person) as unknown as NonNullable<ChatRouteOptions['authorize']>;
    const { POST } = chatRoute(agent, { authorize });
    expect((await POST(new Request('http://localhost/chat', { method: 'POST' }))).status).toBe(401);
  },
);

test('a page that posts only its last message receives the correct form', async () => {
  const { messages, ...rest } = said;
  const answer = await route({}).POST(posted({ ...rest, message: messages[0] }));
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ detail: 'message is not supported. Post messages: [message].' });
});

test('without onFault, a fault is logged to the console', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const away = new Error('The database is away.');
  const { POST } = chatRoute(agent, { authorize: () => Promise.reject(away) });
  expect((await POST(posted(said))).status).toBe(500);
  expect(logged.mock.calls).toEqual([['A POST request to the chat failed:', away]]);
  logged.mockRestore();
});

test('a body that breaks off is a disconnect, not a server fault', async () => {
  const faults: unknown[] = [];
  const { POST } = route({ onFault: (error: unknown) => faults.push(error) });
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"id":"chat-1",'));
      controller.error(new Error('aborted'));
    },
  });
  const headers = { 'content-type': 'application/json' };
  const answer = await POST(
    new Request('http://app.test/api/chat', { method: 'POST', headers, body, duplex: 'half' } as RequestInit),
  );
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ detail: 'The body ended early.' });
  expect(faults).toEqual([]);
});
