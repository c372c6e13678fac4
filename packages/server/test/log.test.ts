import type { LogEntry } from '@countersign/server';
import { countersign, memoryStore, ProviderError } from 'countersign';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLog, redacted } from '../src/log.ts';
import { begin, defineTeller, obedientModel, startServer } from './server.ts';

async function logged(logInputs: boolean): Promise<{ readonly entries: readonly LogEntry[]; readonly token: string }> {
  const entries: LogEntry[] = [];
  const server = await startServer({ dev: true, log: (entry) => entries.push(entry), logInputs });
  const token = await server.tokenFor('ann');
  const ask = await server.as('ann');
  const run = await begin(ask, server.ai, 'pay SECRETIVE-BOB 500');
  await ask('POST', `/api/v1/requests/${run.requests[0].id}/decide`, {
    decision: { type: 'approve' },
    note: 'a note',
  });
  await fetch(server.server.loginUrl ?? '', { redirect: 'manual' });
  await fetch(`${server.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  return { entries, token };
}

test('every request is logged with its person, route and duration, without its content', async () => {
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

test('errors of the server are logged with their reason, also in the chat and in streams', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => printed.mockRestore());
  const real = memoryStore();
  const broken = { now: false };
  const store = new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'read' && broken.now) return Promise.reject(new Error('The disk is gone.'));
        return Reflect.apply(value, target, given);
      };
    },
  });
  const entries: LogEntry[] = [];
  const server = await startServer({ store, worker: false, log: (entry) => entries.push(entry) });
  const ask = await server.as('ann');
  const token = await server.tokenFor('ann');
  const { id } = await begin(ask, server.ai, 'ask when?');
  const open = (path: string) =>
    fetch(`${server.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  const streams = await Promise.all([open(`/runs/${id}/events?follow=1`), open(`/chat/teller/${id}/watch`)]);
  // Both streams have sent the current state.
  const readers = streams.flatMap(({ body }) => (body ? [body.getReader()] : []));
  for (const reader of readers) expect((await reader.read()).done).toBe(false);
  broken.now = true;
  // Another process decides: the streams read the store, and fail.
  const [requestId = ''] = (await real.listRequests({ limit: 1 })).items.map((item) => item.id);
  const elsewhere = countersign({ model: obedientModel(), store: real });
  defineTeller(elsewhere);
  await elsewhere.runs.decide(requestId, { type: 'respond', output: 'now' }, { by: 'ann' });
  expect((await ask('GET', `/api/v1/chat/teller/${id}`)).status).toBe(500);
  expect((await ask('GET', `/api/v1/runs/${id}`)).status).toBe(500);
  const failures = () => entries.filter(({ error }) => (error as Error | undefined)?.message === 'The disk is gone.');
  const routes = () => new Set(failures().map(({ event, route }) => `${event} ${route}`));
  while (routes().size < 4) await new Promise((resolve) => setTimeout(resolve, 10));
  expect([...routes()].toSorted()).toEqual([
    'request /api/v1/chat/:agent/:chatId',
    'request /api/v1/runs/:runId',
    'stream /api/v1/chat/:agent/:chatId/watch',
    'stream /api/v1/runs/:runId/events',
  ]);
  expect(failures().every(({ requestId }) => typeof requestId === 'string')).toBe(true);
  // The client notices that the stream broke off, and nothing is printed beside the log.
  for (const reader of readers) await expect(readToEnd(reader)).rejects.toThrow('terminated');
  expect(printed).not.toHaveBeenCalled();
});

test('a decision that the store refuses gets an error that says what to do and where to find the reason', async () => {
  const store = memoryStore();
  const entries: LogEntry[] = [];
  const server = await startServer({ store, worker: false, log: (entry) => entries.push(entry) });
  const ask = await server.as('ann');
  const [{ id }] = (await begin(ask, server.ai, 'ask when?')).requests;
  const moved = new ProviderError('store-failed', {}, '/srv/runs.db was replaced.', { retryable: false });
  const refusing = vi.spyOn(store, 'append').mockRejectedValue(moved);
  const decision = { type: 'respond', output: 'now' };
  const refused = await ask('POST', `/api/v1/requests/${id}/decide`, { decision });
  const told = entries.find(({ error }) => (error as Error | undefined)?.message === moved.message);
  expect(refused).toMatchObject({ status: 500, body: { code: 'store-failed' } });
  expect(refused.body.detail).toBe(
    `The store failed, and a retry does not help. The request may or may not be recorded: the operator must check the server. See the server log for request id ${told?.requestId}.`,
  );
  expect(told).toMatchObject({ event: 'request', route: '/api/v1/requests/:requestId/decide' });
  refusing.mockRestore();
  expect(await ask('POST', `/api/v1/requests/${id}/decide`, { decision })).toMatchObject({ status: 200 });
});

async function readToEnd(reader: ReadableStreamDefaultReader): Promise<void> {
  while (!(await reader.read()).done);
}

test('an asynchronous log that fails does not end the process', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const log = vi.fn(async () => Promise.reject(new Error('The disk is full.')));
  createLog(log)('info', 'request');
  await new Promise(setImmediate);
  expect(log).toHaveBeenCalledTimes(1);
  expect(unhandled).not.toHaveBeenCalled();
});

test('inputs are logged with logInputs, but secrets are not', async () => {
  const { entries, token } = await logged(true);
  expect(JSON.stringify(entries)).toContain('SECRETIVE-BOB');
  expect(JSON.stringify(entries)).not.toContain(token);
});

test('values that look like secrets are removed, by their names or their form', () => {
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
