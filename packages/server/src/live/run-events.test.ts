// What is held for those who follow a run.
import type { Runs } from 'countersign';
import { expect, test } from 'vitest';
import type { Hub } from './hub.ts';
import { RunEvents } from './run-events.ts';

test('a long run is read as it is asked for, to its end', async () => {
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
