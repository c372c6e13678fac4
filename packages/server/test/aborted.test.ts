// Requests that break off in the middle of a decision: it is recorded or not, and a repeated request shows which.
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../../countersign/test/eventually.ts';
import { begin, startServer } from './server.ts';

const APPROVE = JSON.stringify({ decision: { type: 'approve' } });

/** Sends this much of a decision, and leaves. */
async function breakOff(port: number, token: string, id: string, body: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  const head = [
    `POST /api/v1/requests/${encodeURIComponent(id)}/decide HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${APPROVE.length}`,
  ];
  await new Promise<void>((resolve) => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, () => resolve()));
  socket.destroy();
}

test('a decision that was sent to its end is recorded once, although the client left before the response', async () => {
  const server = await startServer();
  const [ask, token] = [await server.as('ann'), await server.tokenFor('ann')];
  const run = await begin(ask, server.ai, 'pay bob 500');
  const [{ id }] = run.requests;
  await Promise.all(Array.from({ length: 20 }, () => breakOff(server.server.port, token, id, APPROVE)));
  await eventually(() => expect(server.paid).toHaveLength(1));
  const again = await ask('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'approve' } });
  expect(again).toMatchObject({ status: 200, body: { by: 'ann' } });
  const otherwise = await ask('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'reject' } });
  expect(otherwise).toMatchObject({ status: 409, body: { code: 'already-decided' } });
  expect(server.paid).toHaveLength(1);
});

test('a decision that breaks off before its end is not recorded', async () => {
  const server = await startServer();
  const [ask, token] = [await server.as('ann'), await server.tokenFor('ann')];
  const run = await begin(ask, server.ai, 'pay bob 500');
  const [{ id }] = run.requests;
  for (const length of [0, 1, APPROVE.length - 1])
    await breakOff(server.server.port, token, id, APPROVE.slice(0, length));
  const rejected = await ask('POST', `/api/v1/requests/${id}/decide`, { decision: { type: 'reject' } });
  expect(rejected).toMatchObject({ status: 200, body: { by: 'ann' } });
  expect(server.paid).toEqual([]);
});
