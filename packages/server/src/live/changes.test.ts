// What is kept for a client that does not read.
import { expect, test } from 'vitest';
import { changesFor } from './changes.ts';
import type { Listener } from './hub.ts';

test('whoever reads too late looks at everything again, and nothing is kept for them without end', async () => {
  let tell: Listener = () => undefined;
  const hub = {
    news: 0,
    closed: new AbortController().signal,
    listen: (listener: Listener) => {
      tell = listener;
      return () => undefined;
    },
  };
  const access = { reference: async (id: string) => ({ id }), sees: async () => true };
  const services = { hub, access, claims: { follow: () => () => undefined } } as unknown as Parameters<
    typeof changesFor
  >[0];
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

test('a store that is silent keeps nobody who has left', async () => {
  let tell: Listener = () => undefined;
  const hub = {
    news: 0,
    closed: new AbortController().signal,
    listen: (listener: Listener) => {
      tell = listener;
      return () => undefined;
    },
  };
  const asked = Promise.withResolvers<void>();
  const access = {
    reference: () => {
      asked.resolve();
      return new Promise(() => {});
    },
    sees: async () => true,
  };
  const services = { hub, access, claims: { follow: () => () => undefined } } as unknown as Parameters<
    typeof changesFor
  >[0];
  const left = new AbortController();
  const next = changesFor(services, { id: 'ann' } as never, left.signal).next();
  tell(new Set(['run_0']));
  await asked.promise;
  left.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});
