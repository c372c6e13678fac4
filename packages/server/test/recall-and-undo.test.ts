// Recall and undo through the API and the client: who may ask, and what they get.
import { createClient } from '@countersign/server/client';
import { z } from 'countersign';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

async function payment(config: object) {
  const server = await startServer();
  const { ai, as } = server;
  const done: string[] = [];
  const wire = ai.defineTool(
    {
      name: 'pay2',
      description: 'Pays.',
      inputSchema: z.object({}),
      needsApproval: { policy: { deciders: { people: ['ben', 'cy'] }, notRequester: true } },
      undo: (receipt: string) => void done.push(`undid ${receipt}`),
      ...config,
    },
    () => {
      done.push('paid');
      return 'r1';
    },
  );
  const model = {
    name: 'm',
    reply: async ({ messages }: { messages: readonly { role: string }[] }) => ({
      finishReason: 'stop' as const,
      content: messages.at(-1)?.role === 'tool' ? [{ text: 'Done.' }] : [{ toolRequest: { name: 'pay2', input: {} } }],
    }),
  };
  const clerk = ai.defineAgent({ name: 'payer', tools: [wire], model });
  const { id: runId } = await clerk.start('Pay.', { by: 'ann' });
  const [id = ''] = (await ai.runs.wait(runId)).pending;
  const path = `/api/v1/requests/${encodeURIComponent(id)}`;
  const ben = await as('ben');
  const { digest } = (await ben('GET', path)).body;
  expect((await ben('POST', `${path}/decide`, { decision: { type: 'approve' }, digest })).status).toBe(200);
  await ai.runs.settled();
  return { ...server, done, id, path, runId, ann: await as('ann'), ben, cy: await as('cy'), eve: await as('eve') };
}

test('the requester recalls an approved call by the id of its request; others cannot', async () => {
  const { ai, ann, cy, eve, path, done, runId } = await payment({ recallFor: '10m' });
  const seen = (await ann('GET', path)).body;
  expect(seen.outcome).toMatchObject({ state: 'running', startsAt: expect.any(Number) });
  expect((await ann('GET', '/api/v1/requests')).body.items).toMatchObject([
    { kind: 'recall', allows: ['reject'], mayDecide: true },
  ]);
  expect((await eve('POST', `${path}/recall`, {})).status).toBe(404);
  expect((await cy('POST', `${path}/recall`, {})).status).toBe(403);
  const recalled = await ann('POST', `${path}/recall`, { reason: 'Twice.' });
  expect(recalled).toMatchObject({
    status: 200,
    body: { status: 'settled', by: 'ann', decision: { type: 'reject', reason: 'Twice.' } },
  });
  expect((await ann('POST', `${path}/recall`, { reason: 'Twice.' })).status).toBe(200);
  await ai.runs.settled();
  expect((await ann('GET', path)).body.outcome).toMatchObject({ state: 'not-run', why: 'recalled' });
  expect(done).toEqual([]);
  expect((await ai.runs.get(runId)).status).toBe('done');
});

test('a call is undone once, after the people of the call have decided', async () => {
  const { ai, ann, cy, eve, path, done, url, tokenFor, runId } = await payment({});
  expect((await ann('GET', path)).body).toMatchObject({ hasUndo: true, reversibility: 'reversible' });
  expect((await eve('POST', `${path}/undo`, {})).status).toBe(404);
  const first = (await ann('POST', `${path}/undo`, {})).body;
  expect(first).toMatchObject({ runId, isDone: false, steps: [{ tool: 'pay2', status: 'waits' }] });
  const { requestId } = first.steps[0];
  const undoPath = `/api/v1/requests/${encodeURIComponent(requestId)}`;
  const card = (await cy('GET', undoPath)).body;
  expect(card).toMatchObject({ title: 'Undo: pay2', tool: 'undo_pay2', mayDecide: true });
  expect((await ann('GET', undoPath)).body.mayDecide).toBe(false);
  await cy('POST', `${undoPath}/decide`, { decision: { type: 'approve' }, digest: card.digest });
  await ai.runs.settled();
  const client = createClient(url, { token: await tokenFor('ann') });
  expect(await client.runs.undo(runId)).toMatchObject({ isDone: true, steps: [{ status: 'undone' }] });
  expect(done).toEqual(['paid', 'undid r1']);
});
