import type { Notes } from 'countersign/store';
import { expect, test } from 'vitest';
import { assigneeVersions } from './assignees.ts';

test('reading very many assignees does not block the process', async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  // A store that answers at once.
  const list: Notes['list'] = async (_, { after = '0' } = {}) => {
    const page = Number(after);
    const items = Array.from({ length: 500 }, (_, index) => ({ key: `${page}-${index}`, value: null, version: 1 }));
    return { items, cursor: page < 19 ? `${page + 1}` : null };
  };
  const found = await assigneeVersions({ list } as Notes);
  clearImmediate(next);
  expect(found.size).toBe(10_000);
  expect(turns).toBeGreaterThan(5);
});
