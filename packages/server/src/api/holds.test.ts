import type { Notes } from 'countersign';
import { expect, test } from 'vitest';
import { claimVersions } from './holds.ts';

test('a look at very many claims lets the rest of the process go on', async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  // A store that has every answer at hand.
  const list: Notes['list'] = async (_, { after = '0' } = {}) => {
    const page = Number(after);
    const items = Array.from({ length: 500 }, (_, index) => ({ key: `${page}-${index}`, value: null, version: 1 }));
    return { items, cursor: page < 19 ? `${page + 1}` : null };
  };
  const found = await claimVersions({ list } as Notes);
  clearImmediate(next);
  expect(found.size).toBe(10_000);
  expect(turns).toBeGreaterThan(5);
});
