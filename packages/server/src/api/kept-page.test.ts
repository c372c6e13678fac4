import { expect, test } from 'vitest';
import { keptPage } from './kept-page.ts';

test('a page that policies mostly hide does not block the process', async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  // A store that answers at once.
  const load = async ({ limit }: { readonly limit: number }) => ({
    items: Array.from({ length: limit }),
    cursor: 'on',
  });
  const page = await keptPage(load, { cursor: undefined, limit: 50 }, (items) => items.map(() => undefined));
  clearImmediate(next);
  expect(page).toEqual({ items: [], cursor: 'on' });
  expect(turns).toBeGreaterThan(5);
});
