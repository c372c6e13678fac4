// Who may read and decide in a chat: `mayRead` lets a person read only if it returns `true`, and policies say who decides.
import type { PolicyFor } from 'countersign';
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

/** Ada decides up to 500, and the boss decides more. */
const upTo500: PolicyFor = ({ input }) => ({
  deciders: { people: [(input as { amount: number }).amount <= 500 ? 'ada' : 'boss'] },
});

for (const stored of [true, false])
  describe(stored ? 'with a store' : 'sealed', () => {
    async function asked(policyFor: PolicyFor | undefined, route: ChatRouteOptions = {}) {
      const server = await serveChat({
        script: [PAY, 'Paid.'],
        ...(!stored && { store: false }),
        ...(policyFor && { policyFor }),
        route,
      });
      const client = createClient(6, { api: server.url, id: 'chat-1' });
      await client.say('Pay bob 500');
      const [card] = client.cards;
      const { messages } = client.state;
      const decide = (decision: object, user = 'ada') =>
        post(server.url, { id: 'chat-1', messages, decisions: [{ requestId: card.id, decision }] }, { user });
      return { ...server, card, decide };
    }

    test.each<[string, () => unknown]>([
      ['names another person', () => ({ deciders: { people: ['boss'] } })],
      ['names another role', async () => ({ deciders: { roles: ['finance'] } })],
      ['names a policy that is not defined', () => 'payments'],
      ['throws', () => Promise.reject(new Error('The directory is down.'))],
    ])('if policyFor %s, a decision is rejected and the call still waits', async (_how, policyFor) => {
      const { ledger, card, decide } = await asked(policyFor as PolicyFor);
      expect(card.mayDecide).toBe(false);
      expect((await decide({ type: 'approve' })).status).toBe(403);
      expect(ledger).toEqual([]);
    });

    test('an edit beyond the limit of a person does not run', async () => {
      const { ledger, card, decide } = await asked(upTo500);
      expect(card.mayDecide).toBe(true);
      await decide({ type: 'approve', edit: { to: 'bob', amount: 900 } });
      expect(ledger).toEqual([]);
    });

    test('a person whom the policy names approves', async () => {
      const { ledger, decide } = await asked(upTo500);
      expect((await decide({ type: 'approve' })).status).toBe(200);
      expect(ledger).toEqual([{ to: 'bob', amount: 500 }]);
    });

    test('a person without permission learns nothing about the faults of a decision', async () => {
      const { decide } = await asked(() => ({ deciders: { people: ['boss'] } }));
      for (const decision of [
        { type: 'respond', output: 1 },
        { type: 'approve', edit: { amount: 'many' } },
      ])
        expect((await decide(decision)).status).toBe(403);
    });

    test('a session that may not decide is refused, also where anyone may decide', async () => {
      const { ledger, card, decide } = await asked(undefined, { authorize: () => ({ id: 'ada', mayDecide: false }) });
      expect(card.mayDecide).toBe(false);
      expect((await decide({ type: 'approve' })).status).toBe(403);
      expect(ledger).toEqual([]);
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
  const policyFor: PolicyFor = async () => ({ deciders: { people: ['boss'] } });
  const { url } = await serveChat({ script: [PAY, 'Paid.'], policyFor, route: { mayRead: async () => true } });
  await createClient(6, { api: url, id: 'chat-1' }).say('Pay bob 500');
  for (const user of ['ada', 'boss']) {
    const { messages } = JSON.parse((await get(`${url}/chat-1`, { user })).text);
    const card = messages.at(-1).parts.find(({ type }: { type: string }) => type === 'data-request').data;
    expect(card.mayDecide).toBe(user === 'boss');
  }
});

test('the chat of another agent does not exist here: it cannot be read, written to or decided', async () => {
  const { ai, agent, chat, url, ledger } = await serveChat({ script: [PAY, 'Paid.'] });
  const client = createClient(6, { api: url, id: 'chat-1' });
  await client.say('Pay bob 500');
  const other = chatRoute(ai.defineAgent({ name: 'other', tools: [] }), { demo: true, mayRead: () => true });
  const decisions = [{ requestId: client.cards[0].id, decision: { type: 'approve' } }];
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
