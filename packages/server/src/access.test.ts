import { expect, test } from 'vitest';
import { keptPage } from './access.ts';

test('a page of which policies hide much lets the rest of the process go on', async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  // A store that has every answer at hand.
  const load = async ({ limit }: { readonly limit: number }) => ({
    items: Array.from({ length: limit }),
    cursor: 'on',
  });
  const page = await keptPage(load, { cursor: undefined, limit: 50 }, (items) => items.map(() => undefined));
  clearImmediate(next);
  expect(page).toEqual({ items: [], cursor: 'on' });
  expect(turns).toBeGreaterThan(5);
});
