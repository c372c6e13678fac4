// A message in a chat whose pending request other people decide: it waits, the stream says so, and the user can withdraw the request.
import type { PolicyFor } from 'countersign';
import { type ChatRouteOptions, chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { get, post, serveChat } from './server.ts';

const PAY = { calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] };
const byBoss: PolicyFor = () => ({ deciders: { people: ['boss'] } });

const said = (id: string, text: string, more: object = {}) => ({
  id: 'chat',
  trigger: 'submit-message',
  messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }],
  ...more,
});

async function asked(route: ChatRouteOptions = {}, policyFor: PolicyFor | null = byBoss) {
  const server = await serveChat({ script: [PAY, 'Answered.'], ...(policyFor && { policyFor }), route });
  const { chunks } = await post(server.url, said('m1', 'Pay bob 500'));
  const [id = ''] = (await server.ai.runs.get('chat')).pending;
  return { ...server, id, first: cardIn(chunks) };
}

const cardIn = (chunks: readonly { readonly type: string; readonly data?: any }[]) =>
  chunks.findLast(({ type }) => type === 'data-request')?.data;

test('the card says that a message would wait, and the answer to one says that it waits', async () => {
  const { url, ai, id, first, ledger } = await asked();
  expect(first).toMatchObject({ status: 'pending', onMessage: 'waits' });
  const { status, chunks } = await post(url, said('m2', 'Any news?'));
  expect(status).toBe(200);
  expect(cardIn(chunks)).toMatchObject({ id, status: 'pending', holdsMessage: true });
  expect((await ai.runs.get('chat')).pending).toEqual([id]);
  const loaded = JSON.parse((await get(`${url}/chat`)).text);
  expect(loaded.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'user', 'assistant']);
  expect(loaded.messages.at(-1).parts.at(-1).data).toMatchObject({ id, holdsMessage: true });
  await ai.runs.decide(id, 'approve', { by: 'boss' });
  await ai.runs.settled();
  expect(ledger).toEqual([{ to: 'bob', amount: 500 }]);
  expect((await ai.runs.get('chat')).text).toBe('Answered.');
});

test('with `withdraw`, the request is withdrawn and the message that waits is answered', async () => {
  const { url, ai, id, ledger } = await asked();
  await post(url, said('m2', 'Any news?'));
  const { status, text } = await post(url, { id: 'chat', withdraw: true });
  expect(status).toBe(200);
  expect(text).toContain('Answered.');
  expect((await ai.runs.request(id)).settlement).toMatchObject({ withdrawn: true, by: 'ada' });
  await expect(ai.runs.decide(id, 'approve', { by: 'boss' })).rejects.toMatchObject({ code: 'already-decided' });
  expect(ledger).toEqual([]);
  const users = (await ai.runs.get('chat')).messages.filter(({ role }) => role === 'user');
  expect(users).toHaveLength(2);
});

test('a new message with `withdraw` is answered at once, and posted again it is recorded once', async () => {
  const { url, ai, id } = await asked();
  const body = said('m2', 'Forget it.', { withdraw: true });
  expect((await post(url, body)).text).toContain('Answered.');
  await post(url, body);
  expect((await ai.runs.get('chat')).pending).toEqual([]);
  expect((await ai.runs.request(id)).settlement).toMatchObject({ withdrawn: true });
  expect((await ai.runs.get('chat')).messages.filter(({ role }) => role === 'user')).toHaveLength(2);
});

test('`withdraw` without a message that waits withdraws nothing', async () => {
  const { url, ai, id } = await asked();
  await post(url, { id: 'chat', withdraw: true });
  expect((await ai.runs.get('chat')).pending).toEqual([id]);
});

test.each(['queue', 'refuse'] as const)('if the route says `%s`, the browser cannot withdraw', async (whilePending) => {
  const { url, ai, id, first } = await asked({ whilePending });
  expect(first).toMatchObject({ onMessage: whilePending === 'queue' ? 'waits' : 'refused' });
  const answer = await post(url, said('m2', 'Forget it.', { withdraw: true }));
  expect(answer).toMatchObject({ status: 409 });
  expect((await ai.runs.get('chat')).pending).toEqual([id]);
});

test('a session that may not decide leaves the request to others', async () => {
  const route = { authorize: () => ({ id: 'ada', mayDecide: false }) };
  const { url, ai, id, first } = await asked(route, null);
  expect(first).toMatchObject({ mayDecide: false, onMessage: 'waits' });
  await post(url, said('m2', 'Any news?'));
  expect((await ai.runs.get('chat')).pending).toEqual([id]);
});

test('the card of a request that the user decides says that a message withdraws it', async () => {
  const { url, ai, first } = await asked({}, null);
  expect(first).toMatchObject({ mayDecide: true, onMessage: 'withdraws' });
  expect((await post(url, said('m2', 'Never mind.'))).text).toContain('Answered.');
  expect((await ai.runs.get('chat')).pending).toEqual([]);
});

test('in a sealed chat no message can wait', async () => {
  const { agent } = await serveChat({ script: ['Hello.'], store: false });
  const secret = 'a secret of at least thirty-two bytes!';
  expect(() => chatRoute(agent, { demo: true, secret, whilePending: 'queue' })).toThrow(
    /no store, so no message can wait/,
  );
});
