// A signed-in person who looks for runs of others.
import { createClient } from '@countersign/server/client';
import { countersign, memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { type Ask, begin, defineTeller, obedientModel, startServer } from '../server.ts';

const text = (answer: { body: unknown }) => JSON.stringify(answer.body);

/** Every route that shows or changes a run. */
function doors(runId: string, requestId: string): readonly (readonly [method: string, path: string, body?: unknown])[] {
  return [
    ['GET', `/api/v1/runs/${runId}`],
    ['GET', `/api/v1/runs/${runId}/events`],
    ['GET', `/api/v1/runs/${runId}/events?follow=1`],
    ['GET', `/api/v1/runs/${runId}/verify`],
    ['POST', `/api/v1/runs/${runId}/cancel`, {}],
    ['POST', `/api/v1/runs/${runId}/drive`],
    ['GET', `/api/v1/requests/${requestId}`],
    ['POST', `/api/v1/requests/${requestId}/decide`, { decision: { type: 'approve' } }],
    ['POST', `/api/v1/requests/${requestId}/assignee`, { forMs: 5_000 }],
    ['POST', `/api/v1/requests/${requestId}/assignee`, { to: null }],
    ['DELETE', `/api/v1/requests/${requestId}/assignee`],
    ['GET', `/api/v1/chat/teller/${runId}`],
    ['GET', `/api/v1/chat/teller/${runId}/stream`],
    ['GET', `/api/v1/chat/teller/${runId}/watch`],
    [
      'POST',
      '/api/v1/chat/teller',
      { id: runId, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] },
    ],
    ['POST', '/api/v1/chat/teller', { id: runId, decisions: [{ requestId, decision: { type: 'approve' } }] }],
    [
      'POST',
      '/api/v1/chat/parrot',
      { id: runId, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] },
    ],
  ];
}

test('the run of another person does not exist: every route answers the same as for an unknown run', async () => {
  const { as, ai, paid } = await startServer();
  const [ann, mallory] = [await as('ann'), await as('mallory')];
  const run = await begin(ann, ai, 'pay SECRET 500');
  const [{ id }] = run.requests;
  for (const [method, path, body] of doors(run.id, id)) {
    const answer = await mallory(method, path, body);
    expect(answer.status, `${method} ${path}`).toBe(path.endsWith('/stream') ? 204 : 404);
    const never = await mallory(
      method,
      path.replaceAll(run.id, 'run_none'),
      JSON.parse(JSON.stringify(body ?? null).replaceAll(run.id, 'run_none')) ?? undefined,
    );
    // A new chat can be started; everything else is answered the same.
    if (!path.endsWith('/chat/teller') && !path.endsWith('/chat/parrot'))
      expect([answer.status, text(answer).replaceAll(run.id, 'run_none')], path).toEqual([never.status, text(never)]);
    expect(text(answer)).not.toContain('SECRET');
  }
  expect(paid).toEqual([]);
  expect((await ann('GET', `/api/v1/runs/${run.id}`)).body.status).toBe('waiting');
});

test('a chat id that looks like the end of a URL leads to no other chat', async () => {
  const { as, ai } = await startServer();
  const [ann, mallory] = [await as('ann'), await as('mallory')];
  // Her chat has the name of the agent; his has the name of a route.
  await ann('POST', '/api/v1/runs', { agent: 'teller', prompt: 'pay SECRET 500', runId: 'teller' });
  await ai.runs.wait('teller');
  for (const runId of ['stream', 'watch']) {
    await ai.agents.get('teller')?.start('hello', { runId, by: 'mallory' });
    await ai.runs.wait(runId, { until: 'end' });
    const answer = await mallory('GET', `/api/v1/chat/teller/${runId}`);
    expect([answer.status, text(answer).includes('SECRET')], runId).toEqual([400, false]);
  }
  // A chat that no URL can reach is not started.
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }] }];
  for (const id of ['stream', 'watch', '.', '..'])
    expect((await mallory('POST', '/api/v1/chat/teller', { id, messages })).status, id).toBe(400);
  for (const runId of ['.', '..'])
    expect((await mallory('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x', runId })).status).toBe(400);
});

test('a chat that another person starts at the same time is theirs', async () => {
  const real = memoryStore();
  const begun = { byAnn: undefined as (() => Promise<unknown>) | undefined };
  const store = new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'read') return value.bind(target);
      return async (...given: unknown[]) => {
        const found = await Reflect.apply(value, target, given);
        const begin = begun.byAnn;
        begun.byAnn = undefined;
        await begin?.();
        return found;
      };
    },
  });
  // All can read; only the person who started it sends messages and decides.
  const server = await startServer({ store, mayRead: () => true });
  const mallory = await server.as('mallory');
  const elsewhere = countersign({ model: obedientModel(), store: real });
  defineTeller(elsewhere);
  begun.byAnn = async () => {
    await elsewhere.agents.get('teller')?.start('pay bob 500', { runId: 'chat-1', by: 'ann' });
    await elsewhere.runs.wait('chat-1');
  };
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay mallory 900' }] }];
  const { status } = await mallory('POST', '/api/v1/chat/teller', { id: 'chat-1', messages });
  expect(status).toBe(404);
  expect(JSON.stringify(await real.read('chat-1'))).not.toContain('mallory');
});

test('lists, searches and statistics contain only the own runs', async () => {
  const { as, ai } = await startServer();
  const [ann, mallory] = [await as('ann'), await as('mallory')];
  await begin(ann, ai, 'pay SECRET 500');
  const mine = await begin(mallory, ai, 'ask mine?');
  for (const query of ['', '?startedBy=ann', '?status=waiting', '?agent=teller']) {
    const { body } = await mallory('GET', `/api/v1/runs${query}`);
    expect(
      body.items.every((run: any) => run.startedBy === 'mallory'),
      query,
    ).toBe(true);
  }
  for (const query of ['', '?search=SECRET', '?tool=pay', '?label=money', '?mine=0', '?runId=x', '?status=settled']) {
    const answer = await mallory('GET', `/api/v1/requests${query}`);
    expect(
      answer.body.items.every((card: any) => card.runId === mine.id),
      query,
    ).toBe(true);
    expect(text(answer)).not.toContain('SECRET');
  }
  for (const path of ['stats', 'insights', 'insights.csv'])
    expect(text(await mallory('GET', `/api/v1/${path}`))).not.toContain('pay');
  expect((await mallory('GET', '/metrics')).status).toBe(403);
});

test('a run without a starter belongs to no one', async () => {
  const { as, ai } = await startServer();
  await ai.agents.get('teller')?.start('pay SECRET 500', { runId: 'unowned' });
  const { pending } = await ai.runs.wait('unowned');
  const mallory = await as('mallory');
  for (const [method, path, body] of doors('unowned', pending[0] ?? ''))
    expect((await mallory(method, path, body)).status, `${method} ${path}`).toBe(path.endsWith('/stream') ? 204 : 404);
  for (const list of ['runs', 'requests']) expect((await mallory('GET', `/api/v1/${list}`)).body.items).toEqual([]);
});

test('a cursor of another person shows nothing more', async () => {
  const { as, ai } = await startServer();
  const [ann, mallory] = [await as('ann'), await as('mallory')];
  for (const amount of [200, 300]) await begin(ann, ai, `pay SECRET ${amount}`);
  const { cursor } = (await ann('GET', '/api/v1/requests?limit=1')).body;
  const stolen = await mallory('GET', `/api/v1/requests?cursor=${encodeURIComponent(cursor)}`);
  expect(stolen.body.items).toEqual([]);
  const forged = await mallory('GET', '/api/v1/requests?cursor=%7B%22x%22%3A1%7D');
  expect(forged.status).toBeLessThan(500);
});

test('a list filtered by a policy costs few reads, and its pages omit nothing', async () => {
  const real = memoryStore();
  let looks = 0;
  const store = new Proxy(real, {
    get(target, name) {
      if (name === 'listRequests') looks += 1;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const isSevenths = (input: unknown) => (input as { amount: number }).amount % 7 === 0;
  const { as, ai } = await startServer({
    store,
    instance: { policyFor: ({ input }) => ({ deciders: { people: [isSevenths(input) ? 'boss' : 'cara'] } }) },
  });
  const teller = ai.agents.get('teller');
  for (let amount = 201; amount <= 500; amount++) await teller?.start(`pay SECRET ${amount}`, { by: 'ann' });
  await ai.runs.settled();
  const [boss, mallory] = [await as('boss'), await as('mallory')];
  looks = 0;
  expect((await mallory('GET', '/api/v1/requests?limit=1')).body).toEqual({ items: [], cursor: null });
  expect(looks).toBeLessThan(20);
  for (const limit of [1, 3, 50, 200]) {
    const seen: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await boss('GET', `/api/v1/requests?limit=${limit}${from}`);
      expect(body.items.length).toBeLessThanOrEqual(limit);
      seen.push(...body.items.map(({ input }: any) => input.amount));
      cursor = body.cursor;
    }
    const sevenths = Array.from({ length: 300 }, (_, index) => 201 + index).filter((amount) => amount % 7 === 0);
    expect(seen, `limit ${limit}`).toEqual(sevenths);
  }
});

test('changes of other people’s runs are not reported', async () => {
  const server = await startServer();
  const [ann, mallory] = [await server.as('ann'), await server.as('mallory')];
  const client = createClient(server.url, { token: await server.tokenFor('mallory') });
  const stop = new AbortController();
  const changes = client.changes({ signal: stop.signal });
  expect((await changes.next()).value).toBe(null);
  const first = changes.next();
  await begin(ann, server.ai, 'pay SECRET 500');
  await mallory('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'x', runId: 'own' });
  expect((await first).value).toBe('own');
  stop.abort();
});

test('an approver sees the request and its run, and cannot steer it', async () => {
  const { as, ai, paid } = await startServer({
    instance: {
      policyFor: ({ tool }) => (tool === 'pay' ? { deciders: { people: ['boss'] }, notRequester: true } : undefined),
    },
  });
  const [ann, boss, mallory] = [await as('ann'), await as('boss'), await as('mallory')];
  const run = await begin(ann, ai, 'pay bob 500');
  const question = await begin(ann, ai, 'ask what?');
  const [{ id }] = run.requests;
  expect(run.requests[0].mayDecide).toBe(false);
  expect((await ann('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'approve' } })).status).toBe(403);
  expect((await mallory('GET', `/api/v1/requests/${id}`)).status).toBe(404);
  const seen = async (ask: Ask) => (await ask('GET', '/api/v1/requests')).body.items.map((card: any) => card.tool);
  expect(await seen(boss)).toEqual(['pay']);
  expect(await seen(ann)).toEqual(['pay', 'ask']);
  expect(await seen(mallory)).toEqual([]);
  expect((await boss('GET', `/api/v1/runs/${run.id}`)).status).toBe(200);
  expect((await boss('GET', `/api/v1/runs/${question.id}`)).status).toBe(404);
  expect((await boss('POST', `/api/v1/runs/${run.id}/cancel`, {})).status).toBe(403);
  const speak = { id: run.id, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay boss 900' }] }] };
  expect((await boss('POST', '/api/v1/chat/teller', speak)).status).toBe(403);
  const regenerate = {
    id: run.id,
    trigger: 'regenerate-message',
    messages: [{ id: 'm', role: 'assistant', parts: [] }],
  };
  expect((await boss('POST', '/api/v1/chat/teller', regenerate)).status).toBe(403);
  expect((await boss('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'approve' } })).body.by).toBe('boss');
  await ai.runs.wait(run.id, { until: 'end' });
  expect(paid).toEqual([{ to: 'bob', amount: 500 }]);
});

test('an approver of one request of a run reads the whole run, also afterwards', async () => {
  const { as, ai } = await startServer({
    instance: { policyFor: ({ tool }) => (tool === 'pay' ? { deciders: { people: ['boss'] } } : undefined) },
  });
  const [ann, boss] = [await as('ann'), await as('boss')];
  const run = await begin(ann, ai, 'ask what?');
  const reads = async () => (await boss('GET', `/api/v1/runs/${run.id}`)).status;
  const decides = async (ask: Ask, decision: object) => {
    const [id] = (await ai.runs.get(run.id)).pending;
    expect((await ask('POST', `/api/v1/requests/${id}/decide`, { decision })).status).toBe(200);
    await ai.runs.wait(run.id, { until: 'end' });
    expect((await ask('GET', `/api/v1/requests/${id}`)).body).toMatchObject({ status: 'decided', mayDecide: false });
  };
  expect(await reads()).toBe(404);
  await decides(ann, { type: 'respond', output: 'that' });
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay bob 500' }] }];
  await ann('POST', '/api/v1/chat/teller', { id: run.id, messages });
  expect(await reads()).toBe(200);
  await decides(boss, { type: 'approve' });
  expect(await reads()).toBe(200);
});

test('tools get the context of the person who started the run, never that of the approver', async () => {
  const contexts: unknown[] = [];
  const server = await startServer({
    identify: (request) => {
      const id = request.headers.get('x-user');
      return id === null ? null : { id, context: { user: id } };
    },
    instance: {
      contextFor: ({ startedBy }) => ({ user: `for ${startedBy}` }),
      policyFor: () => ({ deciders: { people: ['ann', 'boss'] } }),
    },
  });
  const { ai, url } = server;
  const { z } = await import('countersign');
  const spy = ai.defineTool(
    { name: 'pay2', description: '', inputSchema: z.object({}), needsApproval: true },
    async (_input, { context }) => {
      contexts.push(context);
      return 'paid';
    },
  );
  const { scriptedModel } = await import('countersign/testing');
  ai.defineAgent({
    name: 'spied',
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay2' }] },
    ),
    tools: [spy],
  });
  const { asking } = await import('../server.ts');
  const [ann, boss] = ['ann', 'boss'].map((user) => asking(url, { 'x-user': user }));
  for (const decider of [ann, boss]) {
    const { body } = (await ann?.('POST', '/api/v1/runs', { agent: 'spied', prompt: 'go' })) ?? { body: {} };
    const view = await ai.runs.wait(body.id);
    await decider?.('POST', `/api/v1/requests/${view.pending[0]}/decide`, { decision: { type: 'approve' } });
    await ai.runs.wait(body.id, { until: 'end' });
  }
  expect(contexts).toEqual([{ user: 'ann' }, { user: 'for ann' }]);
});
