// Streams of run events.
import type { Runs } from 'countersign';
import { expect, test } from 'vitest';
import type { Hub } from './hub.ts';
import { RunEvents } from './run-events.ts';

test('a long run is read page by page, to its end', async () => {
  const recorded = Array.from({ length: 200 }, () => ({ type: 'run-went-on' }));
  let reads = 0;
  const read = async (_runId: string, { after, limit }: { readonly after: number; readonly limit: number }) => {
    reads += 1;
    return { run: { status: 'done' }, events: recorded.slice(after, after + limit) };
  };
  const hub = { news: 0, closed: new AbortController().signal, listen: () => () => undefined } as unknown as Hub;
  const events = new RunEvents({ store: { read } } as unknown as Runs, hub);
  const following = events.follow('run_1', 0, new AbortController().signal);
  expect((await following.next()).value).toMatchObject({ id: 1 });
  expect(reads).toBe(1);
  const rest = await Array.fromAsync(following);
  expect(rest.map(({ id }) => id)).toEqual([
    ...recorded
      .keys()
      .drop(1)
      .map((index) => index + 1),
    undefined,
  ]);
  expect(rest.at(-1)).toEqual({ event: 'end', data: {} });
});

test('a store that does not answer holds neither a client that left nor a stop', async () => {
  const [left, closing] = [new AbortController(), new AbortController()];
  const hub = { news: 0, closed: closing.signal, listen: () => () => undefined } as unknown as Hub;
  const events = new RunEvents({ store: { read: () => new Promise(() => {}) } } as unknown as Runs, hub);
  const leaving = events.follow('run_1', 0, left.signal).next();
  const staying = events.follow('run_1', 0, new AbortController().signal).next();
  left.abort();
  expect(await leaving).toEqual({ done: true, value: undefined });
  closing.abort();
  expect(await staying).toEqual({ done: true, value: undefined });
});
