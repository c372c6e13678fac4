// Notices through a server: a channel tells people about a request, with links, and the API shows what was delivered.
import { createClient } from '@countersign/server/client';
import type { Notice } from 'countersign';
import { expect, test, vi } from 'vitest';
import type { ServerChannel } from '../src/channels/server-channel.ts';
import { startServer } from './server.ts';

/** A channel that keeps what it delivers, and fails for people whom it does not know. */
function pigeon() {
  const delivered: Notice[] = [];
  const channel: ServerChannel = {
    name: 'pigeon',
    audience: 'person',
    async deliver(notice) {
      const [{ person = '' } = {}] = notice.to;
      if (person === 'lost') throw Object.assign(new Error('no such roof'), { retryable: false });
      delivered.push(notice);
    },
  };
  return { channel, delivered };
}

async function desk() {
  const { channel, delivered } = pigeon();
  const server = await startServer({
    channels: [channel],
    publicUrl: 'https://approvals.example.com',
    basePath: '/desk',
    mayRead: (_run, { id }) => id !== 'eve',
    instance: { notify: { everyone: ['bob', 'eve', 'lost'] } },
    worker: { pollMs: 50 },
  });
  const at =
    (ask: Awaited<ReturnType<typeof server.as>>): typeof ask =>
    (method, path, ...rest) =>
      ask(method, `/desk${path}`, ...rest);
  return { ...server, delivered, as: async (...given: Parameters<typeof server.as>) => at(await server.as(...given)) };
}

test('a request reaches the people who may read it, and what failed can be tried again', async () => {
  const { as, ai, url, tokenFor, delivered } = await desk();
  const ann = await as('ann');
  const { body } = await ann('POST', '/api/v1/runs', { agent: 'teller', prompt: 'pay bob 500' });
  await ai.runs.wait(body.id);
  await vi.waitFor(() => expect(delivered).toHaveLength(1), 10_000);
  const [{ requestId, links, to } = {} as Notice] = delivered;
  expect(to).toMatchObject([{ person: 'bob', why: 'everyone' }]);
  expect(links?.request).toBe(`https://approvals.example.com/desk/requests/${encodeURIComponent(requestId)}`);

  const client = createClient(`${url}/desk`, { token: await tokenFor('admin', { reach: 'all' }) });
  await vi.waitFor(async () => expect((await client.notices.dead()).items).toHaveLength(1), 10_000);
  const { items } = await client.notices.dead({ channel: 'pigeon' });
  expect(items).toMatchObject([{ person: 'lost', error: 'no such roof', types: ['opened'] }]);
  expect(await client.notices.channels()).toMatchObject([{ name: 'pigeon', dead: 1 }]);
  const log = (await client.notices.deliveries()).items;
  expect(new Set(log.map(({ person, outcome }) => `${person} ${outcome}`))).toEqual(
    new Set(['bob delivered', 'lost given-up', 'eve refused']),
  );
  const metrics = await (
    await fetch(`${url}/desk/metrics`, {
      headers: { authorization: `Bearer ${await tokenFor('admin', { reach: 'all' })}` },
    })
  ).text();
  expect(metrics).toContain('countersign_notices_dead{channel="pigeon"} 1');

  const [letter] = items;
  expect(letter && (await client.notices.retry(letter))).toBe(true);
  await vi.waitFor(
    async () => expect((await client.notices.deliveries()).items.length).toBeGreaterThan(log.length),
    10_000,
  );
  await client.notices.resend({ channel: 'pigeon', requestId });
  await vi.waitFor(() => expect(delivered).toHaveLength(2), 10_000);
  expect(delivered[1]?.key).toBe(delivered[0]?.key);
});

test('people set what they are told; the deliveries of all runs need the reach for it', async () => {
  const { as } = await desk();
  const ann = await as('ann');
  const path = '/api/v1/me/notices';
  expect((await ann('GET', path)).body).toMatchObject({ preferences: {} });
  const preferences = {
    channels: { pigeon: false },
    digest: 'low-risk',
    quiet: { from: '22:00', until: '07:00', timeZone: 'Europe/Zurich' },
  };
  expect(await ann('POST', path, preferences)).toMatchObject({ status: 200, body: { preferences } });
  expect((await ann('GET', path)).body).toMatchObject({ preferences });
  for (const wrong of [
    { digest: 'never' },
    { quiet: { ...preferences.quiet, from: '25:00' } },
    { quiet: { ...preferences.quiet, timeZone: 'Mars' } },
  ])
    expect((await ann('POST', path, wrong)).status).toBe(400);
  for (const hidden of ['channels', 'deliveries', 'dead'])
    expect(await ann('GET', `/api/v1/notices/${hidden}`)).toMatchObject({ status: 403, body: { code: 'not-allowed' } });
  expect((await ann('POST', '/api/v1/notices/retry', { channel: 'pigeon', id: 'x' })).status).toBe(403);
});
