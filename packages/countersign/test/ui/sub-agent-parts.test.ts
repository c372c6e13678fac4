// How a chat shows the calls of its agent and of a sub-agent.
import { approve, type CountersignOptions, countersign, memoryStore, reject, type ToolContext, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type ChatRouteOptions, chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { ask, call, EVERYWHERE, LEASE_MS, placed, script, talker, tool, type Where } from '../sub-agents/kit.ts';
import { createClient } from './client.ts';

const API = 'http://localhost/api/chat';

type Options = Pick<CountersignOptions, 'store' | 'clock' | 'leaseMs'> & { readonly route: ChatRouteOptions };

/** A chat whose agent or sub-agent has one tool, `work`. */
function open(where: Where, body: (ctx: ToolContext) => unknown, { route, ...options }: Options) {
  const ai = countersign({ ...options, retry: false });
  const model = script([[call('work')]]);
  const agent = placed(ai, where, { tools: [tool(ai, 'work', body)], model });
  const { GET, POST } = chatRoute(agent, { demo: true, ...route });
  const fetcher: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    return request.method === 'POST' ? POST(request) : GET(request);
  };
  return { runs: ai.runs, fetcher };
}

test.each(([5, 6, 7] as const).flatMap((version) => EVERYWHERE.map((where) => ({ version, where }))))(
  'a tool that asks three times is asked about each time (client $version, $where)',
  async ({ version, where }) => {
    let asked = 0;
    const body = ({ interrupt }: ToolContext) => {
      if (asked < 3) interrupt({ message: `Q${++asked}` });
      return 'worked';
    };
    const route = { client: version, approvals: version === 5 ? 'output' : 'native' } as const;
    const { runs, fetcher } = open(where, body, { store: memoryStore(), route });
    const client = createClient(version, { api: API, id: 'chat-1', fetch: fetcher });
    await client.say('Work');
    const seen: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      const part = client.tools.find(({ type }) => type === 'tool-work');
      const card = client.cards.at(-1);
      seen.push([part.state, card.status]);
      await client.post({ decisions: [{ requestId: card.id, decision: { type: 'approve' } }] });
    }
    await runs.settled();
    const state = version === 5 ? 'input-available' : 'approval-requested';
    expect(client.text).toContain('worked');
    expect(seen).toEqual([
      [state, 'pending'],
      [state, 'pending'],
      [state, 'pending'],
    ]);
  },
);

test.each(EVERYWHERE)('a late result is shown as a result, not as cancelled (%s)', async (where) => {
  let now = 1_800_000_000_000;
  const clock = () => now;
  const options: Options = { store: memoryStore({ now: clock }), clock, leaseMs: LEASE_MS, route: { client: 6 } };
  const bank = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const pays = () => {
    begun.resolve();
    return bank.promise;
  };
  const one = open(where, pays, options);
  const said = createClient(6, { api: API, id: 'chat-1', auto: true, fetch: one.fetcher }).say('Work');
  await begun.promise;
  now += 2 * LEASE_MS;
  const two = open(where, () => 'again', options);
  await two.runs.drive('chat-1');
  await two.runs.settled();
  bank.resolve('paid at last');
  await one.runs.settled();
  await eventually(async () => expect((await two.runs.get('chat-1')).status).toBe('done'));
  const { messages } = (await (await two.fetcher(`${API}/chat-1`)).json()) as any;
  const work = messages.at(-1).parts.find(({ type }: any) => type === 'tool-work');
  expect(work).toMatchObject({ state: 'output-available', output: 'paid at last' });
  await said;
});

test.each(['with its own ref', 'without a ref'])(
  'a call inside a sub-agent that was rejected is shown as rejected, by whom and why: %s',
  async (how) => {
    const ref = (own: string) => (how === 'without a ref' ? {} : { ref: own });
    const ai = countersign({ store: memoryStore(), retry: false });
    const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
    const calls = ['x', 'y'].map((own) => ({ name: 'pay', input: { own }, ...ref(own) }));
    const sub = ai.defineAgent({ name: 'sub', tools: [pay], model: scriptedModel([{ calls }, 'Done.']) });
    const asks = { calls: [{ name: 'sub', input: { prompt: 'Pay.' }, ...ref('s') }] };
    const clerk = ai.defineAgent({ name: 'clerk', tools: [sub], model: scriptedModel([asks, 'Done.']) });
    const { GET, POST } = chatRoute(clerk, { authorize: () => ({ id: 'ann' }) });
    await clerk.start('Pay.', { runId: 'chat-1', by: 'ann' });
    const { pending } = await ai.runs.wait('chat-1');
    const decisions = pending.map((requestId, index) => ({
      requestId,
      decision: index === 0 ? { type: 'approve' } : { type: 'reject', reason: 'too much' },
    }));
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ id: 'chat-1', messages: [], decisions });
    await (await POST(new Request(API, { method: 'POST', headers, body }))).text();
    await ai.runs.settled();
    const { messages } = (await (await GET(new Request(`${API}/chat-1`))).json()) as any;
    const cards = messages.flatMap(({ parts }: any) => parts.filter(({ type }: any) => type === 'data-request'));
    const at = expect.any(Number);
    expect(cards.map(({ data }: any) => data.decision)).toMatchObject([
      { type: 'approve', by: 'ann', channel: 'chat', at },
      { type: 'reject', by: 'ann', channel: 'chat', at, reason: 'too much' },
    ]);
  },
);

test.each(['blue', '', 0, false, null])('an answer to a question inside is shown unchanged: %j', async (answer) => {
  const ai = countersign({ store: memoryStore(), retry: false });
  const any = ai.defineInterrupt({ name: 'ask', description: '', inputSchema: z.object({}), outputSchema: z.any() });
  const asks = () => script([[call('ask')]]);
  const helper = ai.defineAgent({ name: 'helper', tools: [any], model: asks() });
  const root = ai.defineAgent({
    name: 'root',
    tools: [helper, talker(ai, 'talker', [any], asks)],
    model: script([[ask('helper'), call('talker')]]),
  });
  const { POST } = chatRoute(root, { demo: true, client: 7 });
  const fetcher: typeof fetch = (input, init) => POST(new Request(input, init));
  const client = createClient(7, { api: API, id: 'chat-1', fetch: fetcher });
  await client.say('Ask');
  const decision = { type: 'respond', output: answer };
  await client.post({ decisions: client.cards.map(({ id }) => ({ requestId: id, decision })) });
  const asked = client.tools.filter(({ type }) => type === 'tool-ask');
  expect(asked.map(({ state, output }) => ({ state, output }))).toEqual(
    Array(2).fill({ state: 'output-available', output: answer }),
  );
});

test('two calls inside with the same ref each show their own decision', async () => {
  const ai = countersign({ store: memoryStore(), retry: false });
  const pay = tool(ai, 'pay', () => 'paid', { needsApproval: true });
  const deputy = ai.defineAgent({ name: 'deputy', tools: [pay], model: script([[call('pay', { amount: 1 })]]) });
  const twice = [ask('deputy', 'one'), ask('deputy', 'two')];
  const root = placed(ai, 'inside', { tools: [deputy], model: script([twice]) });
  const { GET } = chatRoute(root, { demo: true });
  const chat = root.chat({ runId: 'chat-1', by: 'demo' });
  const { interrupts } = await chat.send('Pay');
  const [one, two] = interrupts as [(typeof interrupts)[0], (typeof interrupts)[0]];
  await chat.send({ resume: { approve: [approve(one, { edit: { amount: 0 } })], reject: [reject(two, 'too much')] } });
  const { messages } = (await (await GET(new Request(`${API}/chat-1`))).json()) as any;
  const cards = messages.flatMap(({ parts }: any) => parts.filter(({ type }: any) => type === 'data-request'));
  expect(cards.map(({ data }: any) => data.decision)).toMatchObject([
    { type: 'approve', edit: { amount: 0 } },
    { type: 'reject', reason: 'too much' },
  ]);
});
