// A `pg` package that cannot be loaded: the error shows the cause, since the package may be installed.
import { postgresStore } from 'countersign/postgres';
import { expect, test, vi } from 'vitest';

vi.mock('pg', () => ({
  get default(): never {
    throw new Error('Dynamic require of "events" is not supported');
  },
}));

test('a `pg` that does not load, as in a bundle, is not reported as missing', async () => {
  const store = postgresStore('postgres://127.0.0.1:1/runs');
  await expect(store.countRuns()).rejects.toMatchObject({
    code: 'store-failed',
    retryable: false,
    message: expect.stringMatching(
      /loading it failed \(Dynamic require of "events" is not supported\).*exclude it from bundles/,
    ),
  });
  await store.close();
});
