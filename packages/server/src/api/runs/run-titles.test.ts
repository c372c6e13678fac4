import type { Store } from 'countersign/store';
import { expect, test } from 'vitest';
import { runTitles } from './run-titles.ts';

test('reading many titles does not block the process, and each is read once', async () => {
  let reads = 0;
  // A store that answers at once.
  const read = async (id: string) => {
    reads += 1;
    return { events: [{ type: 'user-spoke', messages: [{ role: 'user', content: [{ text: `Pay ${id}` }] }] }] };
  };
  const titlesOf = runTitles({ read } as unknown as Store);
  const runs = Array.from({ length: 100 }, (_, index) => ({ id: `run_${index}` }));
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  expect((await titlesOf(runs)).slice(0, 2)).toEqual(['Pay run_0', 'Pay run_1']);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(50);
  await titlesOf(runs);
  expect(reads).toBe(100);
});
