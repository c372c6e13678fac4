// The options of a chat route: what protects is taken as it was meant, or refused.
import { countersign, memoryStore } from 'countersign';
import { type ChatRouteOptions, chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { post, SECRET, serveChat } from './server.ts';

const agent = countersign({ store: memoryStore() }).defineAgent({ name: 'teller' });
const route = (options: object) => chatRoute(agent, { demo: true, ...options } as ChatRouteOptions);

test.each([
  [{ mayDecides: () => false }, 'chatRoute takes no mayDecides. The nearest it takes: mayDecide'],
  [{ origins: [] }, 'chatRoute takes no origins. The nearest it takes: allowedOrigins'],
  [{ mayDecide: 'finance' }, '`mayDecide` must be a function.'],
  [{ mayRead: true }, '`mayRead` must be a function.'],
  [{ whilePending: 'refused' }, '`whilePending` is one of cancel, refuse'],
  [{ sealExpiresInMs: '60000' }, '`sealExpiresInMs` must be a number of milliseconds above 0.'],
  [{ sealExpiresInMs: Number.NaN }, '`sealExpiresInMs` must be a number'],
  [{ sealExpiresInMs: 0 }, '`sealExpiresInMs` must be a number'],
  [{ allowedOrigins: 'https://app.example.com' }, '`allowedOrigins` must be a list of texts.'],
  [{ allowedOrigins: [/example/] }, '`allowedOrigins` must be a list of texts.'],
])('%o is refused', (options, message) => {
  const refused = { code: 'invalid-options', message: expect.stringContaining(message) };
  expect(() => route(options)).toThrow(expect.objectContaining(refused));
});

test('options that are undefined are not given', () => {
  const none = { mayRead: undefined, whilePending: undefined, sealExpiresInMs: undefined, allowedOrigins: undefined };
  expect(route(none)).toBeDefined();
});

test('with a clock that tells no time, no seal can be decided on', async () => {
  const { url, ledger } = await serveChat({
    script: [{ calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] }, 'Paid.'],
    store: false,
    route: { secret: SECRET, clock: () => Number.NaN },
  });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Pay bob 500');
  const decisions = [{ interruptId: client.cards[0].id, decision: { type: 'approve' } }];
  expect((await post(url, { id: 'chat-1', messages: client.state.messages, decisions })).status).toBe(403);
  expect(ledger).toEqual([]);
});
