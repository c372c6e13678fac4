import type { Runs } from 'countersign';
import type { ListedRun } from 'countersign/store';
import { expect, test } from 'vitest';
import { runSummaries } from './run-summaries.ts';

test('reading many titles does not block the process, and each is read once', async () => {
  let reads = 0;
  // A store that answers at once.
  const read = async (id: string) => {
    reads += 1;
    return { events: [{ type: 'user-spoke', messages: [{ role: 'user', content: [{ text: `Pay ${id}` }] }] }] };
  };
  const summariesOf = runSummaries({ store: { read } } as unknown as Runs);
  const runs = Array.from({ length: 100 }, (_, index) => ({ id: `run_${index}` }) as ListedRun);
  const titlesOf = async () => (await summariesOf(runs)).map(({ title }) => title);
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  expect((await titlesOf()).slice(0, 2)).toEqual(['Pay run_0', 'Pay run_1']);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(50);
  await titlesOf();
  expect(reads).toBe(100);
});
