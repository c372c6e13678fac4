// `away` and `assign`: who is away, who decides for them, and who should decide a request.
import { expect, test } from 'vitest';
import { ASK, workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();

test('a person names a delegate, is listed, and is back', TIMEOUT, async () => {
  await place.start(ASK);
  const period = ['--delegate', 'ben', '--until', '2099-12-24', '--by', 'anna'];
  const { code, stdout } = await place.countersign(['away', ...period]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('ben decides for anna from ') });
  expect(stdout).toContain('until 2099-12-24 00:00:00');
  expect(await place.json('away')).toMatchObject({ items: [{ person: 'anna', delegate: 'ben', by: 'anna' }] });
  expect((await place.countersign(['away'])).stdout).toContain('ben decides for anna');
  const { url } = await place.serving('--no-worker');
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: await place.tokenFor('anna') };
  expect((await place.countersign(['away', '--back'], env)).code).toBe(0);
  const none = await place.countersign(['away'], env);
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No absences') });
  expect((await place.countersign(['away', '--delegate', 'ben', '--until', '2099-01-01T08:00'], env)).code).toBe(0);
  expect(await place.json('away')).toMatchObject({ items: [{ person: 'anna' }] });
  for (const args of [
    ['--until', 'soon'],
    ['--delegate', 'ben'],
    ['--back', '--delegate', 'ben'],
  ])
    expect(await place.countersign(['away', ...args]), args.join(' ')).toMatchObject({ code: 2 });
});

test('a request is assigned, on a store and through a server', TIMEOUT, async () => {
  await place.start(ASK);
  const [{ id }] = (await place.json('inbox')).items;
  const { code, stdout } = await place.countersign(['assign', id, 'ben', '--by', 'anna']);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('assigned to ben') });
  const { url } = await place.serving('--no-worker');
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: await place.tokenFor('anna') };
  expect(await place.countersign(['assign', id, '--nobody'], env)).toMatchObject({ code: 0 });
  expect(await place.countersign(['assign', id])).toMatchObject({ code: 2 });
  expect(await place.countersign(['assign', 'run_x:call_1', 'ben'])).toMatchObject({ code: 3 });
  const shown = await place.countersign(['show', id.split(':')[0]]);
  expect(shown.stdout).toMatch(/assigned/);
});
