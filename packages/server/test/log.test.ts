import type { LogEntry } from '@countersign/server';
import { expect, test } from 'vitest';
import { redacted } from '../src/watching/log.ts';
import { begin, startServer } from './server.ts';

async function logged(logInputs: boolean): Promise<{ readonly entries: readonly LogEntry[]; readonly token: string }> {
  const entries: LogEntry[] = [];
  const server = await startServer({ dev: true, log: (entry) => entries.push(entry), logInputs });
  const token = await server.tokenFor('ann');
  const ask = await server.as('ann');
  const run = await begin(ask, server.ai, 'pay SECRETIVE-BOB 500');
  await ask('POST', `/api/v1/interrupts/${run.interrupts[0].id}/decide`, {
    decision: { type: 'approve' },
    note: 'a note',
  });
  await fetch(server.server.loginUrl ?? '', { redirect: 'manual' });
  await fetch(`${server.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  return { entries, token };
}

test('every request is a line that says who did what and how long it took, not what was said', async () => {
  const { entries, token } = await logged(false);
  const decided = entries.find(({ event }) => event === 'decided');
  expect(decided).toMatchObject({ level: 'info', tool: 'pay', outcome: 'approve', by: 'ann', channel: 'api' });
  const requests = entries.filter(({ event }) => event === 'request');
  expect(requests).toContainEqual(
    expect.objectContaining({
      method: 'POST',
      route: '/api/v1/runs',
      status: 201,
      person: 'ann',
      ms: expect.any(Number),
    }),
  );
  const text = JSON.stringify(entries);
  for (const secret of ['SECRETIVE', 'a note', token, 'token=']) expect(text).not.toContain(secret);
});

test('inputs are logged when asked for, and secrets still are not', async () => {
  const { entries, token } = await logged(true);
  expect(JSON.stringify(entries)).toContain('SECRETIVE-BOB');
  expect(JSON.stringify(entries)).not.toContain(token);
});

test('what looks like a secret is left out, by its name or by its form', () => {
  const token = `cs_${'0'.repeat(16)}_${'A'.repeat(43)}`;
  expect(
    redacted({
      password: 'p',
      nested: [{ apiKey: 'k', Authorization: 'Bearer x', api_key: 1, token: { deep: 1 } }],
      text: `it was ${token} and sk-abcdefghijklmnopqrstuv and Bearer abc.def`,
      none: { secret: null },
      fine: 'tokens are counted',
    }),
  ).toEqual({
    password: '[redacted]',
    nested: [{ apiKey: '[redacted]', Authorization: '[redacted]', api_key: '[redacted]', token: '[redacted]' }],
    text: 'it was [redacted] and [redacted] and [redacted]',
    none: { secret: null },
    fine: 'tokens are counted',
  });
});
