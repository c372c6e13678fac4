// Questions of every kind in the browser: asked in a body, asked again, expired, in doubt.
import { countersign, memoryStore, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';

type Body = Parameters<ReturnType<typeof countersign>['defineTool']>[1];

/** A chat without a network: the client calls the route directly. */
function chatWith(
  body: Body,
  { config = {}, clock = Date.now, leaseMs = 15_000, store = memoryStore({ now: clock }) } = {},
) {
  const model = scriptedModel((request, index) =>
    index === 0 && !JSON.stringify(request.messages).includes('toolResponse')
      ? { calls: [{ name: 'work', ref: 'w1', input: { n: 1 } }] }
      : 'Done.',
  );
  const ai = countersign({ model, store, clock, leaseMs });
  const work = ai.defineTool(
    { name: 'work', description: 'Works.', inputSchema: z.object({ n: z.number() }), outputSchema: z.any(), ...config },
    body,
  );
  const agent = ai.defineAgent({ name: 'worker', tools: [work] });
  const route = chatRoute(agent, { demo: true });
  const call: typeof fetch = (input, init) => {
    const request = new Request(input as string, init);
    return request.method === 'POST' ? route.POST(request) : route.GET(request);
  };
  const client = createClient(6, { api: 'http://localhost/api/chat', id: 'chat-1', auto: true, fetch: call });
  const load = async () => {
    const response = await call('http://localhost/api/chat/chat-1');
    client.state.messages = ((await response.json()) as { messages: any[] }).messages;
  };
  return { ai, client, load };
}

async function approve({ tools, chat }: ReturnType<typeof createClient>, approved = true): Promise<void> {
  await chat.addToolApprovalResponse({ id: tools[0].approval.id, approved });
  await expect.poll(() => chat.status).toBe('ready');
}

test('a body that asks repeatedly gets a new card with a new id each time', async () => {
  let asked = 0;
  const { client } = chatWith(async (_input, { interrupt, resumed }) => {
    if (asked < 3) interrupt({ message: `Question ${++asked}`, resumed: resumed ?? null });
    return 'worked';
  });
  await client.say('Work');
  const ids: string[] = [];
  for (let round = 0; round < 3; round++) {
    expect(client.tools).toMatchObject([{ state: 'approval-requested' }]);
    const card = client.cards.at(-1);
    expect(card).toMatchObject({ kind: 'interrupt', status: 'pending', payload: { message: `Question ${round + 1}` } });
    ids.push(card.id);
    await approve(client);
    await expect.poll(() => client.cards.find(({ id }) => id === card.id)?.status).toBe('decided');
  }
  await expect.poll(() => client.tools[0].state).toBe('output-available');
  expect(new Set(ids).size).toBe(3);
  expect(client.text).toBe('Done.');
});

test('a decision after the deadline has the outcome of the deadline', async () => {
  let now = 1_000;
  let ran = 0;
  const config = { needsApproval: true, expiresIn: 500 };
  const { client } = chatWith(async () => ++ran, { config, clock: () => now });
  await client.say('Work');
  expect(client.cards).toMatchObject([{ expiresAt: 1_500, onExpiry: 'reject' }]);
  now = 2_000;
  await approve(client);
  await expect.poll(() => client.tools[0].state).toBe('output-denied');
  expect(client.cards).toMatchObject([{ status: 'decided', decision: { type: 'reject', by: 'deadline' } }]);
  expect(ran).toBe(0);
});

test('a call with an unknown outcome is asked about, and a plain yes is not enough', async () => {
  let now = 1_000;
  let started = 0;
  let isDead = false;
  const store = memoryStore({ now: () => now });
  const dying = new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => (isDead ? new Promise(() => {}) : value.apply(target, given));
    },
  });
  const never = () => {
    started += 1;
    return new Promise(() => {});
  };
  const config = { needsApproval: true };
  const first = chatWith(never, { config, clock: () => now, store: dying });
  await first.client.say('Work');
  await first.ai.runs.decide(first.client.cards[0].id, 'approve');
  await expect.poll(() => started).toBe(1);
  isDead = true;
  now += 60_000;

  const { ai, client, load } = chatWith(async () => ++started, { config, clock: () => now, store });
  await ai.runs.drive('chat-1');
  await ai.runs.settled();
  await load();
  expect(client.cards.at(-1)).toMatchObject({ kind: 'doubt', allows: ['respond', 'approve', 'cancel'] });
  await approve(client);
  expect(client.cards.at(-1)).toMatchObject({
    status: 'pending',
    problems: [{ message: expect.stringContaining('happened') }],
  });
  expect(client.tools).toMatchObject([{ state: 'approval-requested' }]);
  expect(started).toBe(1);
  const { id } = client.cards.at(-1);
  await client.post({ decisions: [{ requestId: id, decision: { type: 'respond', output: 'it was done' } }] });
  expect(client.tools).toMatchObject([{ state: 'output-available', output: 'it was done' }]);
  expect(started).toBe(1);
});

test.each([undefined, 'sealed'])(
  'a pending call shows the input that would run, with its defaults (%s)',
  async (sealed) => {
    const given: unknown[] = [];
    const inputSchema = z.object({ n: z.number(), unit: z.string().default('kg') });
    const work = tool({ name: 'work', description: '', inputSchema, needsApproval: true }, (input) => {
      given.push(input);
    });
    const model = scriptedModel([{ calls: [{ name: 'work', ref: 'w1', input: { n: 1 } }] }, 'Done.']);
    const ai = countersign({ model, ...(!sealed && { store: memoryStore() }) });
    const route = chatRoute(ai.defineAgent({ name: 'worker', tools: [work] }), {
      demo: true,
      ...(sealed && { secret: 'a secret of at least thirty-two bytes!' }),
    });
    const fetch = (input: unknown, init?: RequestInit) => route.POST(new Request(input as string, init));
    const client = createClient(6, { api: 'http://localhost/api/chat', id: 'chat-1', auto: true, fetch });
    await client.say('Work');
    const shown = client.tools[0];
    expect(shown).toMatchObject({ state: 'approval-requested', input: { n: 1, unit: 'kg' } });
    await approve(client);
    expect(client.text).toBe('Done.');
    expect(given).toEqual([shown.input]);
  },
);

test('a card in the chat shows the preview, and a changed one is asked about again', async () => {
  let price = 5;
  let worked = 0;
  const config = { needsApproval: true, reversibility: 'irreversible', preview: () => ({ price }) } as const;
  const { client } = chatWith(() => ++worked, { config });
  await client.say('Work');
  const [card] = client.cards;
  expect(card).toMatchObject({ preview: { value: { price: 5 } }, earlierPreview: null, reversibility: 'irreversible' });
  price = 6;
  await approve(client);
  await expect.poll(() => client.cards.length).toBe(2);
  expect(worked).toBe(0);
  const shown = { preview: { value: { price: 6 } }, earlierPreview: { value: { price: 5 } }, status: 'pending' };
  expect(client.cards.at(-1)).toMatchObject(shown);
  await approve(client);
  await expect.poll(() => worked).toBe(1);
});
