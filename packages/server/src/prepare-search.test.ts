import { memoryStore, ProviderError } from 'countersign';
import { expect, test, vi } from 'vitest';
import { prepareSearch } from './prepare-search.ts';

test('a search that could not be prepared, since the store was away, is prepared later', async () => {
  const store = memoryStore();
  const away = new ProviderError('store-failed', {}, 'It is away.', { retryable: true });
  const prepare = vi.spyOn(store, 'prepareSearch').mockRejectedValueOnce(away).mockRejectedValueOnce(away);
  const log = vi.fn();
  await prepareSearch(store, log, new AbortController().signal, 5);
  expect(prepare).toHaveBeenCalledTimes(1);
  await vi.waitFor(() => expect(prepare).toHaveBeenCalledTimes(3), { timeout: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(prepare).toHaveBeenCalledTimes(3);
  expect(log.mock.calls).toEqual([['warn', 'search-not-prepared', { error: away }]]);
});

test.each([true, false])(
  'it is tried no more once the server ends, or where that is of no use (%s)',
  async (retryable) => {
    const store = memoryStore();
    const failed = new ProviderError('store-failed', {}, 'It cannot.', { retryable });
    const prepare = vi.spyOn(store, 'prepareSearch').mockRejectedValue(failed);
    const ending = new AbortController();
    await prepareSearch(store, vi.fn(), ending.signal, 20);
    if (retryable) ending.abort();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(prepare).toHaveBeenCalledTimes(1);
  },
);
