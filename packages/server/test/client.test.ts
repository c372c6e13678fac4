import { ApiError, createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { startServer, type TestServer } from './server.ts';

async function clientOf(server: TestServer, person: string) {
  return createClient(server.url, { token: await server.tokenFor(person), channel: 'cli' });
}

test('a run is started, followed, decided and read through the client', async () => {
  const server = await startServer();
  const client = await clientOf(server, 'ann');
  const { id } = await client.runs.start({ agent: 'teller', prompt: 'pay bob 500' }, { idempotencyKey: 'once' });
  const seen: string[] = [];
  for await (const event of client.runs.follow(id)) {
    seen.push(`${event.seq} ${event.type}`);
    if (event.type !== 'call-interrupted') continue;
    const { items } = await client.requests.list({ runId: id });
    const [card] = items;
    if (!card) throw new Error('The card is missing.');
    expect((await client.requests.take(card.id, { forMs: 5_000 })).assignee?.person).toBe('ann');
    await client.requests.release(card.id);
    expect((await client.requests.get(card.id)).messages.length).toBeGreaterThan(0);
    const decided = await client.requests.decide(card.id, { decision: { type: 'approve' }, digest: card.digest });
    expect(decided).toMatchObject({ by: 'ann', channel: 'cli' });
  }
  expect(seen).toEqual([
    '1 user-spoke',
    '2 model-replied',
    '3 call-interrupted',
    '4 vote-cast',
    '5 decision-made',
    '6 call-started',
    '7 call-settled',
    '8 model-replied',
  ]);
  expect((await client.requests.list({ outcome: 'approved' })).items).toHaveLength(1);
  expect((await client.requests.list({ outcome: 'edited' })).items).toEqual([]);
  expect((await client.runs.get(id)).status).toBe('done');
  expect((await client.runs.list({ status: 'done', limit: 5 })).items).toHaveLength(1);
  const page = await client.runs.events(id, { after: 6, limit: 1 });
  expect(page.cursor).toBe('7');
  const next = await client.runs.events(id, { cursor: page.cursor ?? '', limit: 1 });
  expect([next.items.map(({ seq }) => seq), next.cursor]).toEqual([[8], null]);
  expect((await client.runs.verify(id)).ok).toBe(true);
  expect((await client.stats({ days: 1 })).decided).toBe(1);
  expect((await client.agents()).length).toBe(2);
  expect((await client.me()).id).toBe('ann');
});

test('a client waits until a run needs a person, and until it has ended', async () => {
  const server = await startServer();
  const client = await clientOf(server, 'ann');
  const { id } = await client.runs.start({ agent: 'teller', prompt: 'pay bob 500' });
  expect((await client.runs.wait(id)).status).toBe('waiting');
  const stop = new AbortController();
  const stopped = client.runs.wait(id, { until: 'end', signal: stop.signal });
  stop.abort();
  await expect(stopped).rejects.toThrow('aborted');
  const ended = client.runs.wait(id, { until: 'end' });
  const [card] = (await client.requests.list({ runId: id })).items;
  await client.requests.decide(card?.id ?? '', { decision: { type: 'approve' } });
  expect((await ended).status).toBe('done');
  await expect(client.runs.wait('nothing')).rejects.toMatchObject({ code: 'unknown-run' });
});

test.each([
  { type: 'approve', edit: undefined },
  { type: 'restart', replaceInput: undefined },
  { type: 'respond', output: undefined },
  'approve' as unknown as { type: 'approve' },
] as const)('a decision that JSON would change is not sent: %o', async (decision) => {
  const server = await startServer();
  const client = await clientOf(server, 'ann');
  const { id } = await client.runs.start({ agent: 'teller', prompt: 'pay bob 500' });
  await server.ai.runs.wait(id);
  const [card] = (await client.requests.list({ runId: id })).items;
  if (!card) throw new Error('The card is missing.');
  await expect(client.requests.decide(card.id, { decision })).rejects.toMatchObject({ code: 'invalid-decision' });
  await server.ai.runs.settled();
  expect(server.paid).toEqual([]);
  expect((await client.requests.get(card.id)).status).toBe('pending');
});

test('a refusal is an error with its code, and so is an unreachable server', async () => {
  const server = await startServer();
  const client = await clientOf(server, 'ann');
  await expect(client.runs.get('nothing')).rejects.toMatchObject({ status: 404, code: 'unknown-run' });
  await expect(createClient(server.url, { token: 'cs_wrong' }).me()).rejects.toBeInstanceOf(ApiError);
  const nowhere = createClient('http://127.0.0.1:9');
  await expect(nowhere.me()).rejects.toMatchObject({ status: 0, code: 'unreachable' });
});

test('changes are reported once per run, and only for runs that the person can see', async () => {
  const server = await startServer();
  const [ann, bob] = [await clientOf(server, 'ann'), await clientOf(server, 'bob')];
  const stop = new AbortController();
  const changes = ann.changes({ signal: stop.signal });
  // Connected: from here on nothing is missed.
  expect((await changes.next()).value).toBe(null);
  const first = changes.next();
  await bob.runs.start({ agent: 'parrot', prompt: 'his', runId: 'his' });
  await ann.runs.start({ agent: 'parrot', prompt: 'hers', runId: 'hers' });
  expect((await first).value).toBe('hers');
  stop.abort();
  await changes.return(undefined);
});

test('a client whose connection drops continues after the last event it received', async () => {
  const server = await startServer();
  const client = await clientOf(server, 'ann');
  const { id } = await client.runs.start({ agent: 'teller', prompt: 'ask when?' });
  await server.ai.runs.wait(id);
  let connections = 0;
  const cutting = createClient(server.url, {
    token: await server.tokenFor('ann'),
    fetch: async (input, init) => {
      connections += 1;
      const response = await fetch(input, init);
      // The first connection breaks off after some bytes.
      if (connections > 1 || !response.body) return response;
      let sent = 0;
      const cut = response.body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            sent += chunk.byteLength;
            controller.enqueue(chunk);
            if (sent > 200) controller.terminate();
          },
        }),
      );
      return new Response(cut, { status: 200, headers: response.headers });
    },
  });
  const seqs: number[] = [];
  for await (const { seq } of cutting.runs.follow(id)) {
    seqs.push(seq);
    if (seq === 3) {
      const [card] = (await client.requests.list()).items;
      await client.requests.decide(card?.id ?? '', { decision: { type: 'respond', output: 'now' } });
    }
  }
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(seqs.length).toBeGreaterThan(4);
  expect(connections).toBe(2);
});
