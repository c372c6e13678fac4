// `away` and `assign`: who is away, who decides for them, and who should decide a request.
import { expect, test } from 'vitest';
import { ASK, workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();

test('a person names a delegate, is listed, and is back', TIMEOUT, async () => {
  await place.start(ASK);
  const period = ['--delegate', 'ben', '--until', dateIn(30)];
  const unknown = await place.countersign(['away', ...period, '--by', 'anna']);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('ben is not known here') });
  const { url } = await place.serving('--no-worker');
  const as = async (person: string) => ({
    COUNTERSIGN_URL: url,
    COUNTERSIGN_TOKEN: await place.tokenFor(person),
  });
  // Ben has used the server, so he is known.
  await place.countersign(['away'], await as('ben'));
  const { code, stdout } = await place.countersign(['away', ...period, '--by', 'anna']);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('ben decides for anna from ') });
  expect(stdout).toContain(`until ${dateIn(30)} 00:00:00`);
  expect(await place.json('away')).toMatchObject({ items: [{ person: 'anna', delegate: 'ben', by: 'anna' }] });
  expect((await place.countersign(['away'])).stdout).toContain('ben decides for anna');
  const anna = await as('anna');
  expect((await place.countersign(['away', '--back'], anna)).code).toBe(0);
  const none = await place.countersign(['away'], anna);
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No absences') });
  const own = await place.countersign(['away', ...period], anna);
  expect(own).toMatchObject({ code: 1, stderr: expect.stringContaining('Sign in with a browser') });
  const admin = await as('root');
  expect((await place.countersign(['away', '--person', 'anna', ...period], admin)).code).toBe(0);
  expect(await place.json('away')).toMatchObject({ items: [{ person: 'anna', by: 'root' }] });
  for (const args of [
    ['--until', 'soon'],
    ['--delegate', 'ben'],
    ['--back', '--delegate', 'ben'],
  ])
    expect(await place.countersign(['away', ...args]), args.join(' ')).toMatchObject({ code: 2 });
});

/** A date so many days from now, in the time zone of this machine. */
function dateIn(days: number): string {
  const date = new Date(Date.now() + days * 24 * 3_600_000);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');
}

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
