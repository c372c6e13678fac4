// Comments through the API, the client and the inbox's card: who may comment, and that a comment decides nothing.
import { createClient } from '@countersign/server/client';
import { tool, z } from 'countersign';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

async function payment() {
  const server = await startServer();
  const { ai, as } = server;
  const paid: unknown[] = [];
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      needsApproval: { policy: { deciders: { roles: ['finance'] }, notRequester: true } },
    },
    (input) => paid.push(input),
  );
  ai.defineAgent({ name: 'treasurer', tools: [pay] });
  const started = await ai.agents.get('treasurer')?.start('pay ACME 500', { by: 'ann' });
  const [id = ''] = (await ai.runs.wait(started?.id ?? '')).pending;
  const path = `/api/v1/requests/${encodeURIComponent(id)}`;
  const [ann, ben, eve] = [await as('ann'), await as('ben', { roles: ['finance'] }), await as('eve')];
  return { ...server, paid, id, path, ann, ben, eve };
}

test('whoever can read the request can comment on it, also a person who may not decide it', async () => {
  const { ann, ben, path, paid } = await payment();
  const before = (await ben('GET', path)).body;
  expect(await ann('POST', `${path}/comments`, { text: '@ben it is the new account.' })).toMatchObject({
    status: 200,
    body: { status: 'pending', progress: { comments: [{ by: 'ann', text: '@ben it is the new account.' }] } },
  });
  await ben('POST', `${path}/comments`, { text: 'Thanks.' });
  const seen = (await ben('GET', path)).body;
  expect(seen.progress.comments.map(({ by }: { by: string }) => by)).toEqual(['ann', 'ben']);
  expect(seen).toMatchObject({ digest: before.digest, status: 'pending' });
  expect(paid).toEqual([]);
  expect((await ben('POST', `${path}/decide`, { decision: { type: 'approve' }, digest: before.digest })).status).toBe(
    200,
  );
  expect((await ann('POST', `${path}/comments`, { text: 'Late.' })).status).toBe(409);
});

test('the request does not exist for a person who cannot read it, and a token that only reads writes nothing', async () => {
  const { eve, as, ai, id, path } = await payment();
  expect((await eve('POST', `${path}/comments`, { text: 'Hm.' })).status).toBe(404);
  const reader = await as('ann', { scopes: ['read'] });
  expect((await reader('POST', `${path}/comments`, { text: 'Hm.' })).status).toBe(403);
  for (const body of [{}, { text: '' }, { text: ' ' }, { text: 'x'.repeat(2_001) }, { text: 'Hm.', by: 'ben' }])
    expect((await (await as('ann'))('POST', `${path}/comments`, body)).status).toBe(400);
  expect((await ai.runs.request(id)).progress?.comments).toBeUndefined();
});

test('the client comments', async () => {
  const { url, tokenFor, id } = await payment();
  const client = createClient(url, { token: await tokenFor('ann') });
  expect(await client.requests.comment(id, 'Please look.')).toMatchObject({ progress: { comments: [{ by: 'ann' }] } });
});
