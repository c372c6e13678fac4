import type { LogEntry } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { changedStore } from '../../countersign/test/changed-store.ts';
import { insightsOf, readSettled } from '../src/insights/settled-requests.ts';
import { begin, startServer } from './server.ts';

test('requests without a token are refused', async () => {
  const { url } = await startServer();
  const response = await fetch(`${url}/api/v1/me`);
  expect(response.status).toBe(401);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
  expect(await response.json()).toMatchObject({ code: 'not-authorized', status: 401 });
});

test('a token identifies the caller', async () => {
  const { as } = await startServer({ model: { name: 'demo', demo: true } });
  const ask = await as('ann', { scopes: ['read'] });
  const { status, body } = await ask('GET', '/api/v1/me');
  expect(status).toBe(200);
  expect(body).toEqual({ id: 'ann', name: null, scopes: ['read'], reach: 'own', roles: [], demo: true, model: 'demo' });
});

test('agents are listed with suggestions, tools, and when these need approval', async () => {
  const { as } = await startServer();
  const { body } = await (await as('ann'))('GET', '/api/v1/agents');
  expect(body.items.map(({ name }: { name: string }) => name)).toEqual(['teller', 'parrot']);
  expect(body.items.map(({ suggestions }: any) => suggestions)).toEqual([['pay bob 500'], []]);
  expect(body.items[0].tools.map(({ name, asks }: any) => [name, asks])).toEqual([
    ['pay', 'sometimes'],
    ['ask', 'question'],
    ['look', 'never'],
  ]);
});

test('a run waits, is approved, and continues', async () => {
  const { as, ai, paid } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  expect(run).toMatchObject({ status: 'waiting', startedBy: 'ann', agent: 'teller' });
  const [card] = run.requests;
  expect(card).toMatchObject({ tool: 'pay', kind: 'approval', mayDecide: true, assignee: null, risk: 'high' });
  expect(paid).toEqual([]);
  const decided = await ask(
    'POST',
    `/api/v1/requests/${encodeURIComponent(card.id)}/decide`,
    { decision: { type: 'approve' }, digest: card.digest, note: 'fine' },
    { 'x-countersign-channel': 'inbox' },
  );
  expect(decided.status).toBe(200);
  expect(decided.body).toMatchObject({ by: 'ann', channel: 'inbox', note: 'fine', decision: { type: 'approve' } });
  const view = await ai.runs.wait(run.id, { until: 'end' });
  expect(view.status).toBe('done');
  expect(paid).toEqual([{ to: 'bob', amount: 500 }]);
  const after = await ask('GET', `/api/v1/runs/${run.id}`);
  expect(after.body.requests[0]).toMatchObject({ status: 'decided', mayDecide: false, decision: { by: 'ann' } });
});

test('a request carries its preview and whether it can be undone', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const [card] = (await begin(ask, ai, 'pay bob 500')).requests;
  const preview = { value: [{ account: 'bob', isNew: false }] };
  expect(card).toMatchObject({ preview, earlierPreview: null, reversibility: 'irreversible' });
  const edit = { type: 'approve', edit: { to: 'eve', amount: 300 } };
  await ask('POST', `/api/v1/requests/${card.id}/decide`, { decision: edit, digest: card.digest });
  await ai.runs.settled();
  const { items } = (await ask('GET', '/api/v1/requests')).body;
  expect(items).toMatchObject([
    { preview: { value: [{ account: 'eve' }] }, earlierPreview: preview, input: { amount: 300 } },
  ]);
});

test('requests, runs and lists carry the title of the request', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  const [card] = run.requests;
  expect(card).toMatchObject({ tool: 'pay', title: 'Pay 500 to bob', payload: { message: 'Pay 500?' } });
  const waitsFor = { requestId: card.id, tool: 'pay', title: 'Pay 500 to bob' };
  expect(run).toMatchObject({ title: 'pay bob 500', waitsFor });
  const found = async (search: string) => (await ask('GET', `/api/v1/runs?search=${search}`)).body.items;
  expect(await found('500+to+bob')).toMatchObject([{ id: run.id }]);
  expect(await found('500+to+ann')).toEqual([]);
  const listed = async () => (await ask('GET', '/api/v1/runs')).body.items[0];
  expect(await listed()).toMatchObject({ title: 'pay bob 500', waitsFor });
  expect((await ask('GET', '/api/v1/requests?search=pay+500+to+bob')).body.items).toMatchObject([{ id: card.id }]);
  const edit = { type: 'approve', edit: { to: 'bob', amount: 5 } };
  await ask('POST', `/api/v1/requests/${card.id}/decide`, { decision: edit });
  await ai.runs.wait(run.id, { until: 'end' });
  expect(await listed()).toMatchObject({ waitsFor: null });
  const decided = await ask('GET', `/api/v1/requests/${card.id}`);
  expect(decided.body).toMatchObject({
    title: 'Pay 5 to bob',
    earlierTitle: 'Pay 500 to bob',
    decision: { edit: { amount: 5 } },
  });
  const asking = await begin(ask, ai, 'ask which?');
  expect(asking).toMatchObject({ requests: [{ title: null }], waitsFor: { tool: 'ask', title: null } });
});

test('runs and lists carry the tokens of their replies, and events those of each', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const tokens = (count: number) => ({ inputTokens: count, outputTokens: count, totalTokens: 2 * count });
  const run = await begin(ask, ai, 'pay bob 500');
  expect(run.usage).toEqual(tokens(1));
  await ask('POST', `/api/v1/requests/${run.pending[0]}/decide`, { decision: { type: 'approve' } });
  await ai.runs.wait(run.id, { until: 'end' });
  expect((await ask('GET', `/api/v1/runs/${run.id}`)).body.usage).toEqual(tokens(2));
  const silent = { name: 'silent', reply: async () => ({ content: [{ text: 'Hi.' }], finishReason: 'stop' as const }) };
  const { id } = await ai.defineAgent({ name: 'mute', model: silent }).start('Hi.', { by: 'ann' });
  await ai.runs.wait(id, { until: 'end' });
  const { items } = (await ask('GET', '/api/v1/runs')).body;
  expect(items.map(({ usage }: { usage: unknown }) => usage)).toEqual([null, tokens(2)]);
  const events = (await ask('GET', `/api/v1/runs/${run.id}/events`)).body.items;
  const replies = events.filter(({ type }: { type: string }) => type === 'model-replied');
  expect(replies).toMatchObject([{ usage: tokens(1) }, { usage: tokens(1) }]);
  const starter = await as('ann', { scopes: ['start'] });
  const begun = await starter('POST', '/api/v1/runs', { agent: 'teller', prompt: 'look' });
  expect(begun.body).toMatchObject({ usage: null });
});

test('a repeated decision returns the recorded one; a different one is a conflict that names the first', async () => {
  const { as, ai, paid } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  const path = `/api/v1/requests/${run.requests[0].id}/decide`;
  const first = await ask('POST', path, { decision: { type: 'approve' } });
  const again = await ask('POST', path, { decision: { type: 'approve' } });
  expect(again.body).toEqual(first.body);
  const other = await ask('POST', path, { decision: { type: 'reject' } });
  expect(other.status).toBe(409);
  expect(other.body).toMatchObject({
    code: 'already-decided',
    settlement: { by: 'ann', decision: { type: 'approve' } },
  });
  await ai.runs.wait(run.id, { until: 'end' });
  expect(paid).toHaveLength(1);
});

test('an invalid edit says where it is invalid, and nothing runs', async () => {
  const { as, ai, paid } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  const path = `/api/v1/requests/${run.requests[0].id}/decide`;
  const misfit = await ask('POST', path, { decision: { type: 'approve', edit: { to: 'bob', amount: 'much' } } });
  expect(misfit.status).toBe(422);
  expect(misfit.body.problems).toEqual([{ path: ['amount'], message: expect.any(String) }]);
  expect(paid).toEqual([]);
  const fits = await ask('POST', path, { decision: { type: 'approve', edit: { to: 'bob', amount: 7 } } });
  expect(fits.status).toBe(200);
  await ai.runs.wait(run.id, { until: 'end' });
  expect(paid).toEqual([{ to: 'bob', amount: 7 }]);
});

test('a decision on a different card than the pending one is refused', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  const path = `/api/v1/requests/${run.requests[0].id}/decide`;
  const { status, body } = await ask('POST', path, { decision: { type: 'approve' }, digest: 'of something else' });
  expect([status, body.code]).toEqual([409, 'outdated-card']);
});

test('a question is answered; null is an answer, a missing answer is not', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'ask Which day?');
  const path = `/api/v1/requests/${run.requests[0].id}/decide`;
  expect((await ask('POST', path, { decision: { type: 'respond' } })).status).toBe(400);
  expect((await ask('POST', path, { decision: { type: 'respond', output: null } })).status).toBe(422);
  expect((await ask('POST', path, { decision: { type: 'respond', output: 'Friday' } })).status).toBe(200);
  expect((await ai.runs.wait(run.id, { until: 'end' })).status).toBe('done');
});

test('a decision that the card does not allow is refused, but rejecting and cancelling are always allowed', async () => {
  const { as, ai, paid } = await startServer();
  const ask = await as('ann');
  for (const last of ['reject', 'cancel']) {
    const run = await begin(ask, ai, 'pay bob 500');
    const decide = (decision: object) => ask('POST', `/api/v1/requests/${run.requests[0].id}/decide`, { decision });
    for (const decision of [
      { type: 'restart', resumed: true },
      { type: 'respond', output: { receipt: 'none' } },
    ]) {
      const { status, body } = await decide(decision);
      expect([status, body.code]).toEqual([422, 'invalid-decision']);
    }
    expect((await decide({ type: last })).status).toBe(200);
    // Deciding again is a conflict, whatever the decision.
    expect((await decide({ type: 'restart' })).status).toBe(409);
  }
  expect(paid).toEqual([]);
});

test('a start repeated with its key starts once, also concurrently', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const start = (prompt: string) =>
    ask('POST', '/api/v1/runs', { agent: 'parrot', prompt }, { 'idempotency-key': 'k-1' });
  const answers = await Promise.all(Array.from({ length: 10 }, () => start('hello')));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(9).fill(200), 201]);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  expect((await ai.runs.list()).items).toHaveLength(1);
  const other = await start('something else');
  expect([other.status, other.body.code]).toEqual([422, 'key-reused']);
  // Keys of different people are different keys.
  const bob = await as('bob');
  const his = await bob('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'hi' }, { 'idempotency-key': 'k-1' });
  expect(his.status).toBe(201);
});

/** A server whose store is slow with one write: the next one after `hold` waits for its `release`. */
async function slowServer() {
  const real = memoryStore();
  let holding: { readonly reached: () => void; readonly released: Promise<void> } | undefined;
  const append: typeof real.append = async (...given) => {
    const waits = holding;
    holding = undefined;
    waits?.reached();
    await waits?.released;
    return real.append(...given);
  };
  const { as, ai } = await startServer({ store: changedStore(real, { append }) });
  const ask = await as('ann');
  return {
    ai,
    start: (key: string, chosen: object) =>
      ask('POST', '/api/v1/runs', { agent: 'parrot', prompt: 'hi', ...chosen }, { 'idempotency-key': key }),
    hold: () => {
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      holding = { reached: reached.resolve, released: released.promise };
      return { held: reached.promise, release: released.resolve };
    },
  };
}

test.each([{}, { runId: 'mine' }])(
  'a start that is overtaken by its own repetition is not refused (%j)',
  async (chosen) => {
    const { ai, start, hold } = await slowServer();
    const { held, release } = hold();
    const slow = start('k', chosen);
    await held;
    const quick = await start('k', chosen);
    release();
    const answers = [quick, await slow, await start('k', chosen)];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect((await ai.runs.list()).items).toHaveLength(1);
  },
);

test('a key that came with one decision is refused with another, and decides nothing', async () => {
  const { as, ai, paid } = await startServer();
  const ann = await as('ann');
  for (const prompt of ['pay bob 500', 'pay eve 900']) await ai.agents.get('teller')?.start(prompt, { by: 'ann' });
  await ai.runs.settled();
  const [first, second] = (await ai.runs.requests({ order: 'oldest' })).items.map(({ id }) => id);
  const decide = (id: string | undefined, type: string, more: object = {}) =>
    ann('POST', `/api/v1/requests/${id}/decide`, { decision: { type }, ...more }, { 'idempotency-key': 'k-1' });
  expect((await decide(first, 'approve')).status).toBe(200);
  expect((await decide(first, 'approve', { seenForMs: 5 })).status).toBe(200);
  const response = { clientDataJSON: 'YQ', authenticatorData: 'YQ', signature: 'YQ' };
  const assertion = { id: 'k', rawId: 'k', type: 'public-key', response, clientExtensionResults: {} };
  for (const [id, type, more] of [
    [second, 'approve', {}],
    [first, 'reject', {}],
    [first, 'approve', { onBehalfOf: 'zoe' }],
    [first, 'approve', { signature: { response: assertion } }],
    [first, 'approve', { note: 'Fine.' }],
  ] as const)
    expect(await decide(id, type, more)).toMatchObject({ status: 422, body: { code: 'key-reused' } });
  await ai.runs.settled();
  expect(paid).toEqual([{ to: 'bob', amount: 500 }]);
});

test('a run that was started with another key is not taken for one of this key', async () => {
  const { ai, start, hold } = await slowServer();
  const mine = { runId: 'mine' };
  expect((await start('one', mine)).status).toBe(201);
  await ai.runs.wait('mine', { until: 'end' });
  const { held, release } = hold();
  const slow = start('two', mine);
  await held;
  expect((await start('two', mine)).status).toBe(409);
  release();
  expect((await slow).status).toBe(409);
  expect((await start('one', mine)).status).toBe(200);
});

test('a run id in use is refused, with any key and for any owner', async () => {
  const { as } = await startServer();
  const [ann, bob] = [await as('ann'), await as('bob')];
  const start = { agent: 'parrot', prompt: 'hi', runId: 'mine' };
  expect((await ann('POST', '/api/v1/runs', start)).status).toBe(201);
  for (const key of [{}, { 'idempotency-key': 'k' }, { 'idempotency-key': 'k' }]) {
    const { status, body } = await bob('POST', '/api/v1/runs', start, key);
    expect([status, body.code]).toEqual([409, 'run-exists']);
  }
});

test('a run with more requests than are shown shows the pending ones', async () => {
  const model = scriptedModel(() => ({
    calls: Array.from({ length: 201 }, (_, index) => ({ name: 'ask', input: { question: `${index}?` } })),
  }));
  const { as, ai } = await startServer({ instance: { model } });
  const ann = await as('ann');
  // Deciding may take longer than a connection is kept.
  const ask: typeof ann = (method, path, body) => ann(method, path, body, { connection: 'close' });
  const run = await begin(ask, ai, 'ask');
  const [oldest, ...others] = run.pending;
  for (const id of others) await ai.runs.decide(id, { type: 'respond', output: 'yes' }, { by: 'ann' });
  const { body } = await ask('GET', `/api/v1/runs/${run.id}`);
  expect(body.pending).toEqual([oldest]);
  expect(body.requests).toHaveLength(200);
  expect(body.requests.filter(({ status }: any) => status === 'pending')).toMatchObject([{ id: oldest }]);
});

test('a request has one assignee: for a while by taking it, or for good by the record of the run', async () => {
  const { as, ai } = await startServer({ instance: { policyFor: () => ({ deciders: { people: ['ann', 'bob'] } }) } });
  const [ann, bob] = [await as('ann'), await as('bob')];
  const run = await begin(ann, ai, 'pay bob 500');
  const path = `/api/v1/requests/${run.requests[0].id}/assignee`;
  const taking = { forMs: 60_000 };
  const size = async () => (await ai.runs.recorded(run.id)).length;
  const before = await size();
  const taken = await ann('POST', path, taking);
  expect(taken.body.assignee).toEqual({ person: 'ann', until: expect.any(Number) });
  const refused = await bob('POST', path, taking);
  expect([refused.status, refused.body.code, refused.body.assignee.person]).toEqual([409, 'claimed', 'ann']);
  expect((await bob('DELETE', path)).status).toBe(409);
  const list = await bob('GET', '/api/v1/requests');
  expect(list.body.items[0].assignee.person).toBe('ann');
  expect((await ann('POST', path, taking)).status).toBe(200);
  expect((await ann('DELETE', path)).body.assignee).toBeNull();
  expect((await bob('POST', path, taking)).body.assignee.person).toBe('bob');
  // Taking and renewing it writes nothing to the run.
  expect(await size()).toBe(before);
  expect((await bob('POST', path, { to: 'ann' })).body.assignee).toEqual({ person: 'ann', until: null });
  expect(await bob('POST', path, taking)).toMatchObject({ status: 409, body: { assignee: { until: null } } });
  expect((await ann('POST', path, taking)).body.assignee).toEqual({ person: 'ann', until: null });
  expect((await bob('POST', path, { to: null })).body.assignee).toBeNull();
  for (const body of [{}, { to: 'bob', ...taking }, { forMs: 1 }])
    expect((await bob('POST', path, body)).status).toBe(400);
});

test('a run is cancelled, and a failed one is resumed', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  const cancelled = await ask('POST', `/api/v1/runs/${run.id}/cancel`, { reason: 'a mistake' });
  expect(cancelled.body.status).toBe('cancelled');
  const failed = await begin(ask, ai, 'fail');
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'provider-failed' } });
  expect((await ask('POST', `/api/v1/runs/${failed.id}/drive`)).status).toBe(200);
  expect((await ask('GET', `/api/v1/runs/${failed.id}/verify`)).body).toMatchObject({ ok: true, problem: null });
});

test('lists have pages and filters; unknown filters are refused', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  for (const amount of [200, 300, 400]) await begin(ask, ai, `pay bob ${amount}`);
  await begin(ask, ai, 'ask what?');
  const first = await ask('GET', '/api/v1/requests?limit=3');
  expect(first.body.items).toHaveLength(3);
  const second = await ask('GET', `/api/v1/requests?limit=3&cursor=${encodeURIComponent(first.body.cursor)}`);
  expect(second.body).toMatchObject({ items: [{ tool: 'ask' }], cursor: null });
  const amounts = async (query: string) =>
    (await ask('GET', `/api/v1/requests?${query}`)).body.items.map(({ input }: any) => input.amount ?? 'question');
  expect(await amounts('tool=pay&order=newest')).toEqual([400, 300, 200]);
  expect(await amounts('kind=question')).toEqual(['question']);
  expect(await amounts('risk=high&label=money')).toEqual([200, 300, 400]);
  expect(await amounts('search=300')).toEqual([300]);
  expect(await amounts('agent=parrot')).toEqual([]);
  expect(await amounts('status=settled')).toEqual([]);
  const decide = async (amount: number, decision: object) => {
    const [item] = (await ask('GET', `/api/v1/requests?search=${amount}`)).body.items;
    expect((await ask('POST', `/api/v1/requests/${item.id}/decide`, { decision })).status).toBe(200);
  };
  await decide(200, { type: 'approve' });
  await decide(300, { type: 'approve', edit: { to: 'bob', amount: 250 } });
  await decide(400, { type: 'reject' });
  expect(await amounts('status=settled&outcome=approved')).toEqual([200, 300]);
  expect(await amounts('outcome=edited')).toEqual([300]);
  expect(await amounts('outcome=rejected&order=newest&limit=1')).toEqual([400]);
  expect(await amounts('outcome=answered')).toEqual([]);
  expect(await amounts('outcome=approved&status=pending')).toEqual([]);
  for (const query of [
    'outcome=maybe',
    'agnet=x',
    'limit=0',
    'limit=201',
    'limit=ten',
    'limit=1&limit=2',
    'risk=none',
    'cursor=%00',
  ])
    expect((await ask('GET', `/api/v1/requests?${query}`)).status, query).toBe(400);
  const runs = await ask('GET', '/api/v1/runs?agent=teller&limit=2&order=oldest');
  expect(runs.body.items).toHaveLength(2);
  expect(runs.body.cursor).not.toBeNull();
  expect(runs.body.items[0].title).toBe('pay bob 200');
});

test('the title of a run is its first words, on one line and not too long', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const long = `pay bob 500\n\t because ${'\u{1f4b6}'.repeat(300)}`;
  const run = await begin(ask, ai, long);
  const title = `pay bob 500 because ${'\u{1f4b6}'.repeat(100)}…`;
  for (const path of ['/api/v1/runs', '/api/v1/runs']) expect((await ask('GET', path)).body.items[0].title).toBe(title);
  expect(run.title).toBe(title);
  // Later messages do not change it.
  const [{ id }] = run.requests;
  await ask('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'reject' } });
  await ai.runs.wait(run.id, { until: 'end' });
  expect((await ask('GET', `/api/v1/runs/${run.id}`)).body.title).toBe(title);
});

test('runs are found by their title or their id', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const bob = await begin(ask, ai, 'pay bob 500');
  const carol = await begin(ask, ai, 'pay carol 600');
  const found = async (query: string) =>
    (await ask('GET', `/api/v1/runs?${query}`)).body.items.map(({ id }: { id: string }) => id);
  expect(await found('search=CAROL')).toEqual([carol.id]);
  expect(await found(`search=${bob.id.slice(4, 12)}`)).toEqual([bob.id]);
  expect(await found('search=nobody')).toEqual([]);
  expect((await ask('GET', '/api/v1/runs?search=pay&limit=1')).body.items).toHaveLength(1);
});

test('the events of a run come in pages, each event once', async () => {
  const { as, ai } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, 'pay bob 500');
  await ask('POST', `/api/v1/requests/${run.requests[0].id}/decide`, { decision: { type: 'approve' } });
  const { version } = await ai.runs.wait(run.id, { until: 'end' });
  const path = `/api/v1/runs/${run.id}/events`;
  const all = (await ask('GET', `${path}?limit=200`)).body;
  expect([all.items.length, all.cursor]).toEqual([version, null]);
  for (const limit of [1, 2, 3, version]) {
    const seen: unknown[] = [];
    for (let after: string | null = '0'; after !== null; ) {
      const { body }: { body: any } = await ask('GET', `${path}?limit=${limit}&after=${after}`);
      expect(body.items.length).toBeLessThanOrEqual(limit);
      seen.push(...body.items);
      after = body.cursor;
    }
    expect(seen).toEqual(all.items);
  }
});

test('health, readiness and numbers', async () => {
  const { as, url, ai } = await startServer();
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  expect((await (await as('ann'))('GET', '/metrics')).status).toBe(403);
  const ask = await as('root', { reach: 'all' });
  const run = await begin(ask, ai, 'pay bob 500');
  await ask('POST', `/api/v1/requests/${run.requests[0].id}/decide`, {
    decision: { type: 'reject', reason: 'no' },
  });
  await begin(ask, ai, 'ask what?');
  const { body } = await ask('GET', '/metrics');
  expect(body).toContain('countersign_decisions_total{outcome="reject",channel="api"} 1');
  expect(body).toContain('countersign_requests_waiting{tool="ask"} 1');
  expect(body).toContain('countersign_settled_30d{tool="pay",outcome="rejected"} 1');
  expect(body).toMatch(/countersign_http_requests_total\{method="POST",route="\/api\/v1\/runs",status="201"\} 2/);
  expect(body).toMatch(
    /countersign_http_request_duration_seconds_bucket\{method="POST",route="\/api\/v1\/runs",le="\+Inf"\} 2/,
  );
});

/** The value of one line of the metrics. */
const measured = (text: string, line: string): number | undefined =>
  text
    .split('\n')
    .filter((each) => each.startsWith(`${line} `))
    .map((each) => Number(each.slice(line.length)))[0];

test('every decision and every start in this process is counted and logged', async () => {
  const entries: LogEntry[] = [];
  const { as, ai } = await startServer({ log: (entry) => entries.push(entry) });
  const ask = await as('root', { reach: 'all' });
  const byApi = await begin(ask, ai, 'pay bob 500');
  await ask('POST', `/api/v1/requests/${byApi.pending[0]}/decide`, { decision: { type: 'approve' } });
  // A repeated decision is not counted again.
  await ask('POST', `/api/v1/requests/${byApi.pending[0]}/decide`, { decision: { type: 'approve' } });
  const said = { id: 'chat-1', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay bob 500' }] }] };
  await ask('POST', '/api/v1/chat/teller', said);
  const [inChat] = (await ai.runs.get('chat-1')).pending;
  const decisions = [{ requestId: inChat, decision: { type: 'reject', reason: 'no' } }];
  await ask('POST', '/api/v1/chat/teller', { id: 'chat-1', decisions });
  const byCode = await begin(ask, ai, 'ask when?');
  await ai.runs.decide(
    byCode.pending[0],
    { type: 'respond', output: 'now' },
    { by: 'a program', roles: ['server:everything'] },
  );
  const withdrawn = await begin(ask, ai, 'ask where?');
  await ask('POST', `/api/v1/runs/${withdrawn.id}/cancel`, {});
  await ai.runs.settled();
  const { body } = await ask('GET', '/metrics');
  expect(body.match(/^countersign_decisions_total.*/gm).toSorted()).toEqual([
    'countersign_decisions_total{outcome="approve",channel="api"} 1',
    'countersign_decisions_total{outcome="reject",channel="chat"} 1',
    'countersign_decisions_total{outcome="respond",channel="none"} 1',
  ]);
  expect(measured(body, 'countersign_runs_started_total{agent="teller"}')).toBe(4);
  // Each of the four runs has a first reply, and three go on.
  expect(measured(body, 'countersign_tokens_total{agent="teller",type="input"}')).toBe(7);
  const logged = entries.filter(({ event }) => event === 'decided');
  expect(logged.map(({ tool, outcome, by, channel }) => [tool, outcome, by, channel])).toEqual([
    ['pay', 'approve', 'root', 'api'],
    ['pay', 'reject', 'root', 'chat'],
    ['ask', 'respond', 'a program', 'none'],
  ]);
});

test('a decision by deadline is counted as such', async () => {
  const { as, ai } = await startServer({ worker: { pollMs: 20 } });
  const ask = await as('root', { reach: 'all' });
  const hurry = ai.defineTool(
    { name: 'hurry', description: '', inputSchema: z.object({}), needsApproval: () => ({ expiresIn: 50 }) },
    async () => 'done',
  );
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Too late.' : { calls: [{ name: 'hurry' }] },
  );
  ai.defineAgent({ name: 'hasty', model, tools: [hurry] });
  const { body } = await ask('POST', '/api/v1/runs', { agent: 'hasty', prompt: 'go' });
  await ai.runs.wait(body.id, { until: 'end' });
  const metrics = (await ask('GET', '/metrics')).body;
  expect(measured(metrics, 'countersign_decisions_total{outcome="reject",channel="deadline"}')).toBe(1);
});

test('runs are counted by their status, as the store has them', async () => {
  const { as, ai } = await startServer();
  const ask = await as('root', { reach: 'all' });
  await begin(ask, ai, 'pay bob 500');
  await begin(ask, ai, 'ask when?');
  await begin(ask, ai, 'hello');
  await begin(ask, ai, 'fail');
  const { body } = await ask('GET', '/metrics');
  expect(body.match(/^countersign_runs\{.*/gm)).toEqual([
    'countersign_runs{status="running"} 0',
    'countersign_runs{status="waiting"} 2',
    'countersign_runs{status="done"} 1',
    'countersign_runs{status="failed"} 1',
    'countersign_runs{status="cancelled"} 0',
  ]);
});

test('statistics cover the own runs, or all runs for callers with the reach all', async () => {
  const { as, ai } = await startServer();
  const [ann, bob, root] = [await as('ann'), await as('bob'), await as('root', { reach: 'all' })];
  await begin(ann, ai, 'pay bob 500');
  await begin(bob, ai, 'ask what?');
  expect((await ann('GET', '/api/v1/stats')).body).toMatchObject({ waiting: 1, tools: [{ tool: 'pay' }] });
  expect((await root('GET', '/api/v1/stats?days=7')).body).toMatchObject({ waiting: 2, days: expect.any(Array) });
});

test('figures about decisions cover the own runs, or all runs for callers with the reach all', async () => {
  const { as, ai, url, tokenFor } = await startServer();
  const [ann, bob, root] = [await as('ann'), await as('bob'), await as('root', { reach: 'all' })];
  for (const ask of [ann, bob]) {
    const { requests } = await begin(ask, ai, 'pay bob 500');
    const decided = `/api/v1/requests/${encodeURIComponent(requests[0].id)}/decide`;
    expect((await ask('POST', decided, { decision: { type: 'reject' } })).status).toBe(200);
  }
  expect((await ann('GET', '/api/v1/insights')).body).toMatchObject({
    isComplete: true,
    total: { requests: 1, rejected: 1, medianMs: expect.any(Number) },
    choices: { people: ['ann'], tools: ['pay'], policies: [] },
  });
  const { insights } = createClient(url, { token: await tokenFor('root', { reach: 'all' }) });
  const all = await insights({ days: 7, person: 'bob', timeZone: 'Europe/Berlin' });
  expect(all).toMatchObject({ total: { requests: 1 }, choices: { people: ['ann', 'bob'] } });
  const csv = await root('GET', '/api/v1/insights.csv');
  expect(csv.headers.get('content-disposition')).toContain('attachment');
  expect(csv.body.split('\r\n').slice(0, 3)).toMatchObject([
    expect.stringMatching(/^group,name,hour,requests,/),
    expect.stringMatching(/^all,,,2,2,0,0,2,/),
    expect.stringMatching(/^tool,pay,,2,/),
  ]);
  const { requests } = await begin(ann, ai, 'pay bob 500');
  const grant = { uses: 2, expiresAt: Date.now() + 60_000 };
  const decided = await ai.runs.decide(requests[0].id, 'approve', { by: 'ann', grant });
  await begin(ann, ai, 'pay bob 600');
  const { grants: carried } = await insightsOf((period) => readSettled(ai, period), {});
  const given = decided.status === 'settled' ? decided.grant?.id : undefined;
  expect(carried).toEqual([{ grant: given, tool: 'pay', givenBy: 'ann', carried: 1, status: 'active' }]);
  expect((await ann('GET', '/api/v1/insights')).body.grants).toEqual([]);
  for (const query of ['timeZone=Mars', 'days=0', 'tool=a&tool=b', 'who=ann'])
    expect((await ann('GET', `/api/v1/insights?${query}`)).status, query).toBe(400);
});

test('a drill is told after it was decided, and counted by itself', async () => {
  const { as, ai, paid } = await startServer();
  const [ann, root] = [await as('ann'), await as('root', { reach: 'all' })];
  const request = { agent: 'teller', tool: 'pay', input: { to: 'eve', amount: 900 }, prompt: 'pay eve 900', by: 'ann' };
  const real = await begin(ann, ai, 'ask when?');
  for (const type of ['approve', 'reject']) {
    const { id } = await ai.runs.drill(request);
    await ai.runs.wait(id);
    const run = await ann('GET', `/api/v1/runs/${id}`);
    const [card] = run.body.requests;
    const path = `/api/v1/requests/${encodeURIComponent(card.id)}`;
    const before = [run.body, (await ann('GET', path)).body, (await ann('GET', '/api/v1/runs?agent=teller')).body];
    before.push((await ann('GET', `/api/v1/runs/${id}/events`)).body);
    // The evidence of a run names its agent, so it is not for any run with a pending request, a drill or not.
    const evidence = await ann('GET', `/api/v1/runs/${id}/evidence`);
    expect(evidence).toMatchObject({ status: 409, body: { code: 'run-not-ended' } });
    expect(await ann('GET', `/api/v1/runs/${real.id}/evidence`)).toMatchObject({ status: 409 });
    expect(JSON.stringify([...before, evidence.body])).not.toContain('drill');
    expect(card).toMatchObject({ agent: 'teller', tool: 'pay', title: 'Pay 900 to eve', mayDecide: true });
    const decided = await ann('POST', `${path}/decide`, { decision: { type }, digest: card.digest });
    expect(decided.body).toMatchObject({ drill: true });
    await ai.runs.wait(id, { until: 'end' });
    expect((await ann('GET', path)).body).toMatchObject({ status: 'decided', drill: true });
    expect((await ann('GET', `/api/v1/runs/${id}`)).body).toMatchObject({ drill: true, agent: 'teller' });
    expect((await ann('GET', `/api/v1/runs/${id}/evidence`)).body.run).toMatchObject({ agent: 'drill~teller' });
  }
  expect(paid).toEqual([]);
  expect((await root('GET', '/api/v1/stats')).body).toMatchObject({ decided: 0, waiting: 1 });
  expect((await root('GET', '/api/v1/insights')).body).toMatchObject({
    total: { requests: 0 },
    drills: { expired: 0, people: [{ name: 'ann', caught: 1, missed: 1 }] },
  });
  const start = { agent: 'drill~teller', prompt: 'pay eve 900' };
  expect((await ann('POST', '/api/v1/runs', start)).status).toBeGreaterThanOrEqual(400);
});
