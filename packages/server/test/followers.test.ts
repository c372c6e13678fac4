// Many streams, and clients that do not read.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createToken, type Identified, revokeToken } from '@countersign/server';
import { createClient } from '@countersign/server/client';
import { memoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';
import { changedStore } from '../../countersign/test/changed-store.ts';
import { begin, startServer, type TestServer } from './server.ts';

/** The store, with counts of its reads. */
function countingStore() {
  const counts = { read: 0, watch: 0, list: 0 };
  const counting = <T extends object>(real: T): T =>
    new Proxy(real, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if (name === 'read' || name === 'watch' || name === 'list') counts[name] += 1;
          return Reflect.apply(value, target, given);
        };
      },
    });
  const real = memoryStore();
  const notes = counting(real.notes);
  const store = new Proxy(counting(real), {
    get: (target, name) => (name === 'notes' ? notes : Reflect.get(target, name, target)),
  });
  return { store, reads: () => counts.read, watches: () => counts.watch, noteLists: () => counts.list };
}

/** Opens a stream and waits for parts of it. */
async function follow(server: TestServer, token: string, path: string) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal: stop.signal,
  });
  expect(response.status).toBe(200);
  const heard = { text: '', waiting: undefined as (() => void) | undefined };
  const decoder = new TextDecoder();
  void (async () => {
    try {
      for await (const chunk of response.body ?? []) {
        heard.text += decoder.decode(chunk, { stream: true });
        heard.waiting?.();
      }
    } catch {
      // The test is over.
    }
  })();
  return {
    leave: () => stop.abort(),
    async hears(part: string): Promise<void> {
      while (!heard.text.includes(part))
        await new Promise<void>((resolve) => {
          heard.waiting = resolve;
        });
    },
    get text() {
      return heard.text;
    },
  };
}

test('200 streams share one watch and one read per change', async () => {
  const counted = countingStore();
  const server = await startServer({ store: counted.store, worker: false });
  const ask = await server.as('ann');
  const token = await server.tokenFor('ann');
  const run = await begin(ask, server.ai, 'ask when?');
  const other = await begin(ask, server.ai, 'ask where?');
  const watchesBefore = counted.watches();
  const startedAt = performance.now();
  const everything = await Promise.all(Array.from({ length: 100 }, () => follow(server, token, '/api/v1/changes')));
  const same = await Promise.all(
    Array.from({ length: 99 }, () => follow(server, token, `/api/v1/runs/${run.id}/events`)),
  );
  const elsewhere = await follow(server, token, `/api/v1/runs/${other.id}/events`);
  await Promise.all(same.map((one) => one.hears('call-interrupted')));
  await elsewhere.hears('call-interrupted');
  expect(counted.watches() - watchesBefore).toBe(1);
  const before = counted.reads();
  await ask('POST', `/api/v1/requests/${run.requests[0].id}/decide`, {
    decision: { type: 'respond', output: 'now' },
  });
  await Promise.all(same.map((one) => one.hears('event: end')));
  await Promise.all(everything.map((one) => one.hears(run.id)));
  // The request itself and the drive read a few times; the followers share theirs.
  expect(counted.reads() - before).toBeLessThan(15);
  // Holds are read once a second, and when this process changes one; a vote reads whom the voter stands in for.
  expect(counted.noteLists()).toBeGreaterThan(0);
  expect(counted.noteLists()).toBeLessThan((performance.now() - startedAt) / 1_000 + 10);
  expect(elsewhere.text).not.toContain(run.id);
  for (const one of same) {
    const seqs = [...one.text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  }
});

test('100 streams share one read of a new run, and one of a deleted run', async () => {
  const counted = countingStore();
  const server = await startServer({ store: counted.store, worker: false });
  const [teller, token] = [server.ai.agents.get('teller'), await server.tokenFor('ann')];
  await teller?.start('hello', { runId: 'gone', by: 'ann' });
  await server.ai.runs.wait('gone', { until: 'end' });
  const everybody = await Promise.all(Array.from({ length: 100 }, () => follow(server, token, '/api/v1/changes')));
  const before = counted.reads();
  await server.ai.runs.delete('gone');
  await teller?.start('ask when?', { runId: 'fresh', by: 'ann' });
  await Promise.all(everybody.map((one) => one.hears('fresh')));
  expect(counted.reads() - before).toBeLessThan(15);
});

test('callers of /stats share one computation that begins after they asked', async () => {
  const real = memoryStore();
  const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let looks = 0;
  const stats: typeof real.stats = async (query) => {
    looks += 1;
    if (looks > 1) return real.stats(query);
    begun.resolve();
    await release.promise;
    throw new Error('The first look fails.');
  };
  const server = await startServer({ store: changedStore(real, { stats }), worker: false });
  const [root, ann] = [await server.as('root', { reach: 'all' }), await server.as('ann')];
  const first = root('GET', '/api/v1/stats');
  await begun.promise;
  await begin(ann, server.ai, 'ask when?');
  const others = Array.from({ length: 20 }, () => root('GET', '/api/v1/stats'));
  // Other numbers do not wait for it.
  expect((await ann('GET', '/api/v1/stats')).body.waiting).toBe(1);
  expect(looks).toBe(2);
  release.resolve();
  expect((await first).status).toBe(500);
  expect((await Promise.all(others)).map(({ body }) => body.waiting)).toEqual(others.map(() => 1));
  expect(looks).toBe(3);
});

test('200 watchers of a chat share one watch and one read per change, and read nothing while it is idle', async () => {
  const counted = countingStore();
  // Comments that are further apart than a read once a second.
  const server = await startServer({ store: counted.store, worker: false, keepAliveMs: 1_200 });
  const ask = await server.as('ann');
  const token = await server.tokenFor('ann');
  const run = await begin(ask, server.ai, 'ask when?');
  const [watchesBefore, readsBefore] = [counted.watches(), counted.reads()];
  const watching = await Promise.all(
    Array.from({ length: 200 }, () => follow(server, token, `/api/v1/chat/teller/${run.id}/watch`)),
  );
  await Promise.all(watching.map((one) => one.hears('"status":"waiting"')));
  expect(counted.watches() - watchesBefore).toBe(1);
  // Access is checked for each from the run's record; events are read once.
  expect(counted.reads() - readsBefore).toBeLessThan(215);
  const atRest = counted.reads();
  await Promise.all(watching.map((one) => one.hears(': keep-alive')));
  expect(counted.reads() - atRest).toBe(0);
  await ask('POST', `/api/v1/requests/${run.requests[0].id}/decide`, {
    decision: { type: 'respond', output: 'now' },
  });
  await Promise.all(watching.map((one) => one.hears('"status":"done"')));
  expect(counted.reads() - atRest).toBeLessThan(15);
});

test('a client that reconnects with the last id misses nothing and gets nothing twice', async () => {
  const server = await startServer();
  const ask = await server.as('ann');
  const token = await server.tokenFor('ann');
  const run = await begin(ask, server.ai, 'ask when?');
  const response = await fetch(`${server.url}/api/v1/runs/${run.id}/events?follow=1`, {
    headers: { authorization: `Bearer ${token}`, 'last-event-id': '2' },
  });
  const client = createClient(server.url, { token });
  await client.requests.decide(run.requests[0].id, { decision: { type: 'respond', output: 'now' } });
  const text = await response.text();
  const seqs = [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
  expect(seqs[0]).toBe(3);
  expect(seqs).toEqual(seqs.map((_, index) => index + 3));
  expect(text.trimEnd().endsWith('event: end\ndata: {}')).toBe(true);
});

test('a client that reconnects during a read does not get the result of that read', async () => {
  const real = memoryStore();
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let holdsAt: number | undefined;
  const read: typeof real.read = async (runId, options) => {
    const loaded = await real.read(runId, options);
    if (holdsAt === undefined || options?.after !== holdsAt) return loaded;
    holdsAt = undefined;
    held.resolve();
    await release.promise;
    return loaded;
  };
  const server = await startServer({ store: changedStore(real, { read }) });
  const [ask, token] = [await server.as('ann'), await server.tokenFor('ann')];
  const run = await begin(ask, server.ai, 'ask when?');
  const path = `/api/v1/runs/${run.id}/events?after=${run.version}`;
  const everything = await follow(server, token, '/api/v1/changes');
  holdsAt = run.version;
  const early = await follow(server, token, path);
  await held.promise;
  await server.ai.runs.decide(run.requests[0].id, { type: 'respond', output: 'now' }, { by: 'ann' });
  await server.ai.runs.wait(run.id, { until: 'end' });
  // From here on no change is reported.
  await everything.hears(run.id);
  const late = await follow(server, token, path);
  await late.hears('event: end');
  release.resolve();
  await early.hears('event: end');
});

test('approvers receive a request, also one made right after its run started', async () => {
  const asks = Promise.withResolvers<void>();
  const model = scriptedModel(async () => {
    await asks.promise;
    return { calls: [{ name: 'ask', input: { question: 'when?' } }] };
  });
  const server = await startServer({
    instance: { model, policyFor: () => ({ deciders: { people: ['boss'] } }) },
  });
  const [ann, boss] = [await server.as('ann'), await server.as('boss')];
  const hers = await follow(server, await server.tokenFor('ann'), '/api/v1/changes');
  const his = await follow(server, await server.tokenFor('boss'), '/api/v1/changes');
  await ann('POST', '/api/v1/runs', { agent: 'teller', prompt: 'ask', runId: 'soon' });
  await hers.hears('soon');
  expect((await boss('GET', '/api/v1/runs/soon')).status).toBe(404);
  asks.resolve();
  await server.ai.runs.wait('soon');
  expect((await boss('GET', '/api/v1/runs/soon')).status).toBe(200);
  await his.hears('soon');
});

test('a client that does not read is cut off, and its buffers are freed', async () => {
  const server = await startServer({ keepAliveMs: 50, patienceMs: 2_000, metrics: 'open' });
  const token = await server.tokenFor('ann');
  // More than the buffers of a connection hold.
  const huge = 'x'.repeat(8_000_000);
  const parrot = server.ai.agents.get('parrot');
  if (!parrot) throw new Error('The agent is missing.');
  const { id } = await parrot.start(huge, { by: 'ann' });
  await server.ai.runs.wait(id, { until: 'end' });
  const socket = connect(server.server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `GET /api/v1/runs/${id}/events?follow=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const open = async () =>
    /countersign_open_streams (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];
  while ((await open()) !== '1');
  while ((await open()) !== '0');
  socket.destroy();
});

test('a client that leaves is removed at once', async () => {
  const server = await startServer({ metrics: 'open' });
  const token = await server.tokenFor('ann');
  const stop = new AbortController();
  await Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`${server.url}/api/v1/changes`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal }),
    ),
  );
  const open = async () =>
    /countersign_open_streams (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];
  expect(await open()).toBe('20');
  stop.abort();
  while ((await open()) !== '0');
});

test('no more streams than allowed are open', async () => {
  const server = await startServer({ maxStreams: 3, maxStreamsPerPerson: 9 });
  const token = await server.tokenFor('ann');
  const ask = await server.as('ann');
  for (let open = 0; open < 3; open++) await follow(server, token, '/api/v1/changes');
  const { status, body, headers } = await ask('GET', '/api/v1/changes');
  expect([status, body.code]).toEqual([503, 'too-many-streams']);
  expect(body.detail).toBe('Too many streams are open. Try again later.');
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect((await ask('GET', '/api/v1/me')).status).toBe(200);
});

test.each([{ maxStreams: 5, maxStreamsPerPerson: 2 }, { maxStreams: 4 }])(
  'one person cannot open all streams: %o',
  async (limits) => {
    const server = await startServer(limits);
    const token = await server.tokenFor('ann');
    const [ann, bob] = [await server.as('ann'), await server.tokenFor('bob')];
    const streams = [];
    for (let open = 0; open < 2; open++) streams.push(await follow(server, token, '/api/v1/changes'));
    const refused = await ann('GET', '/api/v1/changes');
    expect([refused.status, refused.body.code]).toEqual([429, 'too-many-streams']);
    expect(refused.headers.get('retry-after')).toBe('5');
    // A chat post is answered with a stream: it is refused before it starts anything.
    const chat = { id: 'chat-1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] };
    expect((await ann('POST', '/api/v1/chat/parrot', chat)).status).toBe(429);
    expect((await server.ai.runs.list()).items).toEqual([]);
    await follow(server, bob, '/api/v1/changes');
    streams[0]?.leave();
    await expect.poll(async () => (await ann('POST', '/api/v1/chat/parrot', chat)).status).toBe(200);
  },
);

test('a stream ends when its token is revoked, its session ends, or the login no longer knows the person', async () => {
  const known = new Set(['eve']);
  const server = await startServer({
    dev: true,
    streamCheckMs: 50,
    identify: (request) => {
      const id = request.headers.get('x-user');
      return id !== null && known.has(id) ? { id } : null;
    },
  });
  const ask = await server.as('ann');
  const run = await begin(ask, server.ai, 'ask when?');
  const { token, record } = await createToken(server.ai.runs.notes, { person: 'ann' });
  const signedIn = await fetch(server.server.loginUrl ?? '', { redirect: 'manual' });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const open = (path: string, headers: Record<string, string>) => fetch(`${server.url}/api/v1${path}`, { headers });
  const [bearer, session, hook] = [{ authorization: `Bearer ${token}` }, { cookie }, { 'x-user': 'eve' }];
  const streams = await Promise.all([
    open('/changes', bearer),
    open(`/runs/${run.id}/events?follow=1`, bearer),
    open(`/chat/teller/${run.id}/watch`, bearer),
    open('/changes', session),
    open('/changes', hook),
  ]);
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const stays = await follow(server, await server.tokenFor('ann'), '/api/v1/changes');
  await revokeToken(server.ai.runs.notes, record.id);
  await fetch(`${server.url}/logout`, { method: 'POST', headers: { cookie, origin: server.url } });
  known.clear();
  // The server ends each.
  await Promise.all(streams.map((stream) => stream.text()));
  // Streams of people who are still signed in stay open.
  const more = await begin(ask, server.ai, 'hello');
  await stays.hears(more.id);
});

test('a stream ends when the person has fewer rights than when it was opened', async () => {
  const rights: Record<string, Pick<Identified, 'scopes' | 'reach'>> = {
    'may do less': { scopes: ['read', 'decide'] },
    'sees less': { reach: 'all' },
    'sees more': { scopes: ['read'] },
  };
  const server = await startServer({
    streamCheckMs: 50,
    identify: (request) => {
      const id = request.headers.get('x-user') ?? '';
      return rights[id] ? { id, ...rights[id] } : null;
    },
  });
  const open = (id: string) => fetch(`${server.url}/api/v1/changes`, { headers: { 'x-user': id } });
  const streams = await Promise.all(['may do less', 'sees less', 'sees more'].map(open));
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
  const [less, own, all] = streams.map((stream) => stream.text());
  rights['may do less'] = { scopes: ['read'] };
  rights['sees less'] = { reach: 'own' };
  rights['sees more'] = { reach: 'all' };
  // The server ends each.
  await Promise.all([less, own]);
  expect(await Promise.race([all?.then(() => 'ended'), delay(200, 'open')])).toBe('open');
});

test('revoking a token ends its streams, at the latest when they reconnect', async () => {
  const server = await startServer({ streamLifetimeMs: 200 });
  const ask = await server.as('ann');
  const run = await begin(ask, server.ai, 'ask when?');
  const { token, record } = await createToken(server.ai.runs.notes, { person: 'ann' });
  for (const path of [
    '/api/v1/changes',
    `/api/v1/runs/${run.id}/events?follow=1`,
    `/api/v1/chat/teller/${run.id}/watch`,
  ]) {
    const response = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status, path).toBe(200);
    // The server ends it.
    await response.text();
  }
  const client = createClient(server.url, { token });
  const heard: (string | null)[] = [];
  await expect(async () => {
    for await (const change of client.changes()) {
      heard.push(change);
      if (heard.length === 2) await revokeToken(server.ai.runs.notes, record.id);
    }
  }).rejects.toMatchObject({ status: 401 });
  // After each connect, anything may have changed.
  expect(heard.slice(0, 2)).toEqual([null, null]);
});
