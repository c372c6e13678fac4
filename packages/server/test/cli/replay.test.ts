// `replay` and `policies`: what another configuration would have done, which versions were applied, what the past suggests.
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();
const pay = (amount: number) => `call transferMoney ${JSON.stringify({ toAccount: 'DE02', amount })}`;

test('a new configuration is replayed, with the requests behind each number', TIMEOUT, async () => {
  await place.start(pay(950), pay(20));
  const items: readonly { id: string }[] = (await place.json('inbox')).items;
  for (const { id } of items) await place.countersign(['decide', id, '--approve', '--by', 'bea']);
  const same = await place.countersign(['replay']);
  expect(same).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^2 calls of 2 runs since .*; nothing changes for 2\.\n$/),
  });
  const rules = `[{ tool: 'transferMoney', where: [{ field: 'amount', above: 500 }], policy: { quorum: [{ of: { roles: ['finance'] }, count: 2 }] } }]`;
  writeFileSync(place.path('new.config.ts'), `export const rules = ${rules};`);
  const { stdout } = await place.countersign(['replay', '--config', 'new.config.ts', '--since', '30d']);
  expect(stdout).toContain('1 would need more people; people approved 1, edited 0 and rejected 0 of them:');
  expect(stdout).toContain(items.find(({ id }) => stdout.includes(id))?.id);
  const grant = JSON.stringify({ tool: 'transferMoney', uses: 1, where: [{ field: 'amount', atMost: 100 }] });
  expect((await place.json('replay', '--grant', grant)).changes.runs).toMatchObject({ count: 1, approved: 1 });
  expect(await place.countersign(['replay', '--grant', '{}'])).toMatchObject({ code: 2 });
  writeFileSync(place.path('wrong.config.ts'), `export const rules = [{ tool: 'none' }];`);
  expect(await place.countersign(['replay', '--config', 'wrong.config.ts'])).toMatchObject({ code: 1 });
});

test('a server records the version that it applies, and who deployed it', TIMEOUT, async () => {
  await place.start('hello');
  expect((await place.countersign(['policies', 'history'])).stderr).toContain('No version is recorded');
  writeFileSync(place.path('countersign.config.ts'), `export const policies = { payments: { notRequester: true } };`);
  const server = place.begin(['worker', 'agents.ts'], { COUNTERSIGN_DEPLOYED_BY: 'ann at build 7' });
  await server.says(/Working on/);
  await expect.poll(async () => (await place.json('policies', 'history')).items).toMatchObject([{ number: 1 }]);
  const { stdout } = await place.countersign(['policies', 'history']);
  expect(stdout).toMatch(
    /^Version 1, .*, deployed by ann at build 7\n {2}\+ policy payments: \{"notRequester":true\}\n$/,
  );
  await place.start(...[1, 2, 3, 4, 5].map(pay));
  for (const { id } of (await place.json('inbox')).items)
    await place.countersign(['decide', id, '--approve', '--by', 'bea']);
  const suggested = await place.countersign(['policies', 'suggest']);
  expect(suggested.stdout).toContain(
    'transferMoney: 5 of 5 approved without change, toAccount DE02, amount at most 5;',
  );
  expect(suggested.stdout).toMatch(/ai\.grants\.give\('run_.*by: 'bea' \}\)/);
});
