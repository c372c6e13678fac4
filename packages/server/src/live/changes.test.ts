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
