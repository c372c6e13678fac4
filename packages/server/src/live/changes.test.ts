// The buffer of a client that does not read.
import { expect, test } from 'vitest';
import { changesFor } from './changes.ts';
import { Hub } from './hub.ts';

function servicesWith(access: object) {
  const hub = new Hub({ store: { watch: () => () => undefined } } as never);
  const services = { hub, access, assignees: { follow: () => () => undefined } } as never;
  const change = async (runId: string) => {
    hub.changed(runId);
    await hub.flushed();
  };
  return { services, change };
}

test('a client that reads too late reloads everything, and its buffer is bounded', async () => {
  const access = { reference: async (id: string) => ({ id }), sees: async () => true };
  const { services, change } = servicesWith(access);
  const changes = changesFor(services, { id: 'ann' } as never, new AbortController().signal);
  const first = changes.next();
  await change('run_0');
  expect((await first).value).toEqual({ event: 'change', data: { runId: 'run_0' } });
  for (let number = 1; number <= 1_500; number++) await change(`run_${number}`);
  expect((await changes.next()).value).toEqual({ event: 'change', data: { runId: null } });
  const next = changes.next();
  await change('run_1');
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
  const { services, change } = servicesWith(access);
  const left = new AbortController();
  const next = changesFor(services, { id: 'ann' } as never, left.signal).next();
  await change('run_0');
  await asked.promise;
  left.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});
