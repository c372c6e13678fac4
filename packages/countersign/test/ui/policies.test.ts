// `mayRead` and `mayDecide` of a chat route: only `true` lets a person read or decide, synchronously or not.
import { type ChatRouteOptions, chatRoute } from 'countersign/ui';
import { describe, expect, test } from 'vitest';
import { createClient } from './client.ts';
import { get, post, serveChat } from './server.ts';

const PAY = { calls: [{ name: 'transfer', ref: 'c1', input: { to: 'bob', amount: 500 } }] };

const noes: readonly [string, () => unknown][] = [
  ['says no', () => false],
  ['says no later', async () => false],
  ['does not say yes in plain words', () => 'yes'],
  ['says nothing', () => undefined],
  ['throws', () => Promise.reject(new Error('The directory is down.'))],
];

for (const stored of [true, false])
  describe(stored ? 'with a store' : 'sealed', () => {
    async function asked(mayDecide: ChatRouteOptions['mayDecide']) {
      const faults: unknown[] = [];
      const server = await serveChat({
        script: [PAY, 'Paid.'],
        ...(!stored && { store: false }),
        route: { ...(mayDecide && { mayDecide }), onFault: (error) => faults.push(error) },
      });
      const client = createClient(6, { api: server.url, id: 'chat-1' });
      await client.say('Pay bob 500');
      const [card] = client.cards;
      const decisions = [{ interruptId: card.id, decision: { type: 'approve' } }];
      const approve = () => post(server.url, { id: 'chat-1', messages: client.state.messages, decisions });
      return { ...server, faults, card, approve, messages: client.state.messages };
    }

    test.each(noes)('if mayDecide %s, a decision is rejected and the call still waits', async (how, mayDecide) => {
      const { ledger, card, approve, faults } = await asked(mayDecide as () => boolean);
      expect(card.mayDecide).toBe(false);
      expect((await approve()).status).toBe(403);
      expect(ledger).toEqual([]);
      expect(faults.length > 0).toBe(how === 'throws');
    });

    test('mayDecide sees the edited input that would run', async () => {
      const upTo500: ChatRouteOptions['mayDecide'] = ({ input }) => (input as { amount: number }).amount <= 500;
      const { url, ledger, card, approve, messages } = await asked(upTo500);
      expect(card.mayDecide).toBe(true);
      const edited = (amount: number) =>
        post(url, {
          id: 'chat-1',
          messages,
          decisions: [{ interruptId: card.id, decision: { type: 'approve', edit: { to: 'bob', amount } } }],
        });
      const refused = await edited(900);
      expect([refused.status, JSON.parse(refused.text).code]).toEqual([403, 'not-allowed']);
      expect(ledger).toEqual([]);
      if (stored) expect((await edited(400)).status).toBe(200);
      else expect((await approve()).status).toBe(200);
      expect(ledger).toEqual([{ to: 'bob', amount: stored ? 400 : 500 }]);
    });

    test('a person without permission learns nothing about the faults of a decision', async () => {
      const { url, card, messages } = await asked(() => false);
      for (const decision of [
        { type: 'respond', output: 1 },
        { type: 'approve', edit: { amount: 'many' } },
      ]) {
        const refused = await post(url, { id: 'chat-1', messages, decisions: [{ interruptId: card.id, decision }] });
        expect(refused.status).toBe(403);
      }
    });

    test('mayDecide can say yes asynchronously', async () => {
      const { ledger, card, approve } = await asked(async ({ tool }, { id }) => tool === 'transfer' && id === 'ada');
      expect(card.mayDecide).toBe(true);
      expect((await approve()).status).toBe(200);
      expect(ledger).toEqual([{ to: 'bob', amount: 500 }]);
    });
  });

test.each(noes)('if mayRead %s, the chat does not exist', async (_, mayRead) => {
  const server = await serveChat({ script: ['Hello.'] });
  await createClient(6, { api: server.url, id: 'chat-1' }).say('Hi');
  const hidden = chatRoute(server.agent, { demo: true, mayRead: mayRead as () => boolean });
  expect((await get(`${server.url}/chat-1`)).status).toBe(200);
  expect((await hidden.GET(new Request(`${server.url}/chat-1`))).status).toBe(404);
});

test('a loaded chat says whether the reader may decide each card', async () => {
  const mayDecide: ChatRouteOptions['mayDecide'] = async (_, { id }) => id === 'boss';
  const { url } = await serveChat({ script: [PAY, 'Paid.'], route: { mayDecide, mayRead: async () => true } });
  await createClient(6, { api: url, id: 'chat-1' }).say('Pay bob 500');
  for (const user of ['ada', 'boss']) {
    const { messages } = JSON.parse((await get(`${url}/chat-1`, { user })).text);
    const card = messages.at(-1).parts.find(({ type }: { type: string }) => type === 'data-interrupt').data;
    expect(card.mayDecide).toBe(user === 'boss');
  }
});

test('the chat of another agent does not exist here: it cannot be read, written to or decided', async () => {
  const { ai, agent, chat, url, ledger } = await serveChat({ script: [PAY, 'Paid.'] });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Pay bob 500');
  const other = chatRoute(ai.defineAgent({ name: 'other', tools: [] }), { demo: true, mayRead: () => true });
  const decisions = [{ interruptId: client.cards[0].id, decision: { type: 'approve' } }];
  const posted = (body: object) => {
    const whole = JSON.stringify({ id: 'chat-1', messages: client.state.messages, ...body });
    return new Request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: whole });
  };
  const said = { id: 'm9', role: 'user', parts: [{ type: 'text', text: 'Never mind.' }] };
  expect((await other.GET(new Request(`${url}/chat-1`))).status).toBe(404);
  expect((await other.POST(posted({ decisions }))).status).toBe(404);
  expect((await other.POST(posted({ messages: [...client.state.messages, said] }))).status).toBe(404);
  expect(ledger).toEqual([]);
  expect(await ai.runs.get('chat-1')).toMatchObject({ agent: agent.name, status: 'waiting' });
  expect((await chat.GET(new Request(`${url}/chat-1`, { headers: { 'x-user': 'ada' } }))).status).toBe(200);
});
