// `decide --allow` and `grants`: give, list, show and revoke a grant.
import { expect, test } from 'vitest';
import { workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();
const pay = (amount: number) => `call transferMoney ${JSON.stringify({ toAccount: 'DE02', amount, memo: 'Rent' })}`;

test('an approval allows the next calls, which are listed and revoked', TIMEOUT, async () => {
  await place.start(pay(950));
  const [{ id }] = (await place.json('inbox')).items;
  const allow = ['--allow', '2', '--where', 'toAccount=DE02', '--where', 'amount<=1000', '--budget', 'amount<=1500'];
  for (const wrong of [
    ['--where', 'a=b'],
    ['--allow', '0'],
    ['--allow', '1', '--for', 'ever'],
    ['--allow', '1', '--where', 'a'],
  ])
    expect(await place.countersign(['decide', id, '--approve', ...wrong])).toMatchObject({ code: 2 });
  expect(await place.countersign(['decide', id, '--reject', '--allow', '1'])).toMatchObject({ code: 2 });
  const decided = await place.countersign(['decide', id, '--approve', ...allow, '--for', '7d', '--by', 'bea']);
  expect(decided).toMatchObject({ code: 0, stdout: expect.stringContaining('2 next calls') });
  const [run = ''] = await place.start(pay(1_000));
  expect((await place.json('runs')).items).toContainEqual(expect.objectContaining({ id: run, status: 'done' }));
  expect((await place.countersign(['show', run])).stdout).toMatch(/runs without a request under\s+grant_/);
  const { items } = await place.json('grants', 'list', '--status', 'active');
  expect(items).toMatchObject([{ tool: 'transferMoney', givenBy: 'bea', left: { uses: 1, amount: 500 } }]);
  const grant = items[0].id;
  expect((await place.countersign(['grants', 'list'])).stdout).toContain('1 of 2');
  const { stdout } = await place.countersign(['grants', 'show', grant]);
  expect(stdout).toContain('where toAccount = "DE02"\n  where amount <= 1000\n');
  expect(stdout).toMatch(new RegExp(`${run}.*1000.*spent`));
  const revoked = await place.countersign(['grants', 'revoke', grant, '--reason', 'Enough.', '--by', 'cem']);
  expect(revoked).toMatchObject({ code: 0, stdout: expect.stringContaining('is asked about again') });
  expect(await place.json('grants', 'show', grant)).toMatchObject({ revoked: { by: 'cem', reason: 'Enough.' } });
  expect(await place.countersign(['grants', 'show', 'grant_none'])).toMatchObject({ code: 3 });
});
