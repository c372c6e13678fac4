// Streams of run events.
import type { Runs } from 'countersign';
import { expect, test } from 'vitest';
import { Hub } from './hub.ts';
import { createRunEvents } from './run-events.ts';

const quietHub = () => new Hub({ store: { watch: () => () => undefined } } as unknown as Runs);

test('a long run is read page by page, to its end', async () => {
  const recorded = Array.from({ length: 200 }, () => ({ type: 'run-went-on' }));
  let reads = 0;
  const read = async (_runId: string, { after, limit }: { readonly after: number; readonly limit: number }) => {
    reads += 1;
    return { run: { status: 'done', version: recorded.length }, events: recorded.slice(after, after + limit) };
  };
  const follow = createRunEvents({ store: { read } } as unknown as Runs, quietHub());
  const following = follow('run_1', 0, new AbortController().signal);
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
  const left = new AbortController();
  const hub = quietHub();
  const follow = createRunEvents({ store: { read: () => new Promise(() => {}) } } as unknown as Runs, hub);
  const leaving = follow('run_1', 0, left.signal).next();
  const staying = follow('run_1', 0, new AbortController().signal).next();
  left.abort();
  expect(await leaving).toEqual({ done: true, value: undefined });
  hub.close();
  expect(await staying).toEqual({ done: true, value: undefined });
});
