// The buffer of a client that does not read.
import { expect, test } from 'vitest';
import { changesFor } from './changes.ts';
import type { Listener } from './hub.ts';

function servicesWith(access: object): {
  readonly services: Parameters<typeof changesFor>[0];
  readonly tell: Listener;
} {
  const listeners: Listener[] = [];
  const hub = {
    news: 0,
    closed: new AbortController().signal,
    listen: (listener: Listener) => {
      listeners.push(listener);
      return () => undefined;
    },
  };
  const services = { hub, access, holds: { follow: () => () => undefined } } as never;
  return { services, tell: (runIds) => void listeners.map((listener) => listener(runIds)) };
}

test('a client that reads too late reloads everything, and its buffer is bounded', async () => {
  const access = { reference: async (id: string) => ({ id }), sees: async () => true };
  const { services, tell } = servicesWith(access);
  const changes = changesFor(services, { id: 'ann' } as never, new AbortController().signal);
  const first = changes.next();
  tell(new Set(['run_0']));
  expect((await first).value).toEqual({ event: 'change', data: { runId: 'run_0' } });
  for (let number = 1; number <= 2_000; number++) tell(new Set([`run_${number}`]));
  expect((await changes.next()).value).toEqual({ event: 'change', data: { runId: null } });
  const next = changes.next();
  tell(new Set(['run_1']));
  expect((await next).value).toEqual({ event: 'change', data: { runId: 'run_1' } });
});

test('a store that does not answer does not hold a client that left', async () => {
  const asked = Promise.withResolvers<void>();
  const access = {
    reference: () => {
      asked.resolve();
      return new Promise(() => {});
    },
    sees: async () => true,
  };
  const { services, tell } = servicesWith(access);
  const left = new AbortController();
  const next = changesFor(services, { id: 'ann' } as never, left.signal).next();
  tell(new Set(['run_0']));
  await asked.promise;
  left.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});
