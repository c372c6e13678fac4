// `approve` and `reject`: several requests with one command, each with its own outcome.
import { expect, test } from 'vitest';
import { ASK, workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();
const pay = (account: string, amount: number) =>
  `call transferMoney ${JSON.stringify({ toAccount: account, amount, memo: 'Rent' })}`;

test('a table says what differs before all are approved, and questions are left alone', TIMEOUT, async () => {
  const [first = '', second = ''] = await place.start(pay('DE02', 950), pay('DE07', 800), ASK);
  const asked = await place.countersign(['approve', '--all', '--tool', 'transferMoney']);
  expect(asked).toMatchObject({ code: 2 });
  expect(asked.stderr).toContain('pass --yes');
  const { code, stdout, stderr } = await place.countersign([
    'approve',
    '--all',
    '--yes',
    '--note',
    'ok',
    '--by',
    'bea',
  ]);
  expect(code).toBe(0);
  expect(stderr).toContain('transferMoney (assistant): 2\nThe same in all:\n  memo "Rent"\n');
  const lines = stdout.trim().split('\n');
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`^${first}:\\S+\t"DE02"\t950\ttransferMoney$`)),
    expect.stringMatching(new RegExp(`^${second}:\\S+\t"DE07"\t800\ttransferMoney$`)),
    expect.stringMatching(new RegExp(`^${first}:\\S+\tapproved\ttransferMoney$`)),
    expect.stringMatching(new RegExp(`^${second}:\\S+\tapproved\ttransferMoney$`)),
  ]);
  expect(stderr).toContain('2 requests, sum of amount 1750, 2 payees, largest amount: 950\n');
  expect(stderr).toContain('Recorded 2 of 2.');
  expect((await place.json('inbox', '--settled', '--decided-by', 'bea')).items).toHaveLength(2);
  expect((await place.json('inbox', '--settled', '--decided-by', 'cem')).items).toEqual([]);
  expect((await place.json('inbox', '--for', 'me')).items).toMatchObject([{ tool: 'askQuestion', mayDecide: true }]);
  expect((await place.json('inbox', '--for', 'others')).items).toEqual([]);
  const { items } = await place.json('inbox');
  expect(items.map(({ tool }: { tool: string }) => tool)).toEqual(['askQuestion']);
  const none = await place.countersign(['approve', '--all', '--yes']);
  expect(none).toMatchObject({ code: 0, stderr: 'No matching requests.\n' });
});

test('through a server, one that somebody decided first is reported with exit code 4', TIMEOUT, async () => {
  await place.start(pay('DE02', 950), pay('DE07', 800));
  const [one, two] = (await place.json('inbox')).items.map(({ id }: { id: string }) => id);
  const { url } = await place.serving('--no-worker');
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: await place.tokenFor('bea') };
  expect(await place.countersign(['decide', one, '--approve', '--by', 'cem'])).toMatchObject({ code: 0 });
  const { code, stdout } = await place.countersign(['reject', one, two, '--reason', 'Closed', '--yes', '--json'], env);
  expect(code).toBe(4);
  const { items } = JSON.parse(stdout);
  expect(items).toMatchObject([
    { status: 'conflict', requestId: one, problem: { settlement: { by: 'cem' } } },
    { status: 'settled', requestId: two, by: 'bea', channel: 'cli', decision: { type: 'reject', reason: 'Closed' } },
  ]);
  const people = await place.countersign(['reject', one, '--yes'], env);
  expect(people.stdout).toContain('cem already approved this');
});

test('wrong usage is refused before anything is opened', TIMEOUT, async () => {
  for (const args of [[], ['--all', 'a:b'], ['a:b', 'a:b', '--yes'], ['a:b', '--tool', 'pay', '--yes']])
    expect(await place.countersign(['approve', ...args]), args.join(' ')).toMatchObject({ code: 2 });
  expect(await place.countersign(['approve', 'run_x:call_1', '--yes'])).toMatchObject({ code: 3 });
});

test('in a terminal the question repeats the number and the sum', TIMEOUT, async () => {
  await place.start(pay('DE02', 950.1), pay('DE02', 800.2));
  const terminal = place.terminal(['approve', '--all']);
  await terminal.says(/Approve 2 requests, sum of amount 1750\.3, 1 payee\?/);
  terminal.press('\r');
  await terminal.says(/Nothing was sent/);
});

test('in a terminal it asks, and starts on no', TIMEOUT, async () => {
  await place.start(pay('DE02', 950));
  const terminal = place.terminal(['approve', '--all']);
  await terminal.says(/Approve this request\?/);
  terminal.press('\r');
  await terminal.says(/Nothing was sent/);
  expect((await place.json('inbox')).items).toHaveLength(1);
});
