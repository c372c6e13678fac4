// `freeze`, `freezes` and `unfreeze` with a running server, and directly on a store while no server runs; and what the doctor says.
import { copyFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PAY, workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();
const STORE = ['--store', 'sqlite:.countersign/runs.sqlite'];
const done = (stdout: string | RegExp) => ({
  code: 0,
  stdout: typeof stdout === 'string' ? expect.stringContaining(stdout) : expect.stringMatching(stdout),
});

test('with a server: an approved call waits, and goes on after the freeze is lifted', TIMEOUT, async () => {
  const [run = ''] = await place.start(PAY);
  const token = await place.tokenFor('eve');
  const { url } = await place.serving();
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: token };
  const on = (...args: readonly string[]) => place.countersign(args, env);
  expect(await on('freeze', '--reason', 'x')).toMatchObject({ code: 2 });
  expect(await on('freeze', 'transfer*', '--reason', 'hacked', '--by', 'bob')).toMatchObject({ code: 2 });
  const frozen = await on('freeze', 'transfer*', '--reason', 'hacked');
  expect(frozen).toMatchObject(done('Frozen: tools transfer*. Lift it with: countersign unfreeze freeze_'));
  const [{ id }] = (await place.json('inbox')).items;
  expect(await on('decide', id, '--approve')).toMatchObject({ code: 0 });
  await expect.poll(async () => (await on('show', run)).stdout).toMatch(/frozen/i);
  const [freeze] = JSON.parse((await on('freezes', '--json')).stdout).items;
  expect(freeze).toMatchObject({ tools: ['transfer*'], by: 'eve', reason: 'hacked', lifted: null });
  expect(await on('freezes')).toMatchObject(done(/tools transfer\*\s+hacked\s+eve/));
  expect(await on('unfreeze', freeze.id, '--note', 'new password')).toMatchObject(done('Lifted: tools transfer*.'));
  await expect
    .poll(async () => JSON.parse((await on('show', run, '--json')).stdout).status, { timeout: 30_000 })
    .toBe('done');
  expect(await on('freezes', '--lifted')).toMatchObject(done('lifted by eve'));
});

test('with --store, no server runs: the call waits when one does', TIMEOUT, async () => {
  await place.start(PAY);
  const on = (...args: readonly string[]) => place.countersign([...args, ...STORE]);
  const frozen = await on('freeze', '--all', '--reason', 'an incident', '--by', 'eve', '--json');
  const { id } = JSON.parse(frozen.stdout);
  expect(frozen.stderr).not.toContain('No policy was checked');
  expect(await on('freezes')).toMatchObject(done(/every call\s+an incident\s+eve/));
  const { url } = await place.serving();
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: await place.tokenFor('eve') };
  const [card] = (await place.json('inbox')).items;
  expect(await place.countersign(['decide', card.id, '--approve'], env)).toMatchObject({ code: 0 });
  await expect
    .poll(async () => (await place.countersign(['show', card.runId], env)).stdout)
    .toMatch(/frozen.*an incident/i);
  expect(await on('unfreeze', id, '--by', 'eve')).toMatchObject(done('Lifted: every call.'));
  await expect
    .poll(async () => (await place.json('runs')).items, { timeout: 30_000 })
    .toContainEqual(expect.objectContaining({ id: card.runId, status: 'done' }));
});

test(
  'with --store, the policy of the project holds; without a file that loads, the command says so',
  TIMEOUT,
  async () => {
    await place.start(PAY);
    const on = (...args: readonly string[]) => place.countersign([...args, ...STORE]);
    const freeze = ['freeze', '--all', '--reason', 'x', '--by', 'eve'];
    const config = (own: string) => `import { countersign, memoryStore } from 'countersign';
const freezes = { freeze: { deciders: { roles: ['ops'] } }, lift: { deciders: { roles: ['security'] } } };
export default ${own};`;
    const configs = {
      'made.ts': '({ store }) => countersign({ store, freezes })',
      'own.ts': 'countersign({ store: memoryStore(), freezes })',
    };
    for (const [name, own] of Object.entries(configs)) {
      writeFileSync(place.path(name), config(own));
      const file = ['--agents', name];
      expect(await on(...freeze, ...file)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Nothing was frozen'),
      });
      const frozen = await on(...freeze, ...file, '--role', 'ops', '--json');
      expect(frozen).toMatchObject({ code: 0, stderr: '' });
      const { id } = JSON.parse(frozen.stdout);
      expect(await on('unfreeze', id, '--role', 'ops', ...file)).toMatchObject({ code: 1 });
      expect(await on('unfreeze', id, '--role', 'security', ...file)).toMatchObject(done('Lifted'));
    }
    writeFileSync(place.path('broken.ts'), 'throw new Error("no key");');
    const unchecked = await on(...freeze, '--agents', 'broken.ts');
    expect(unchecked).toMatchObject({ code: 0, stderr: expect.stringMatching(/No policy was checked.*no key/) });
  },
);

test('the doctor names the freeze of a restored store, and what to look at', TIMEOUT, async () => {
  await place.start(PAY);
  expect(await place.countersign(['doctor'])).toMatchObject({ stdout: expect.stringMatching(/freezes +nothing is/) });
  copyFileSync(place.path('.countersign/runs.sqlite'), place.path('restored.sqlite'));
  const restored = ['--store', 'sqlite:restored.sqlite'];
  const { stdout } = await place.countersign(['doctor', ...restored]);
  expect(stdout).toMatch(/freezes +frozen since .*restored from a backup/);
  const [, id = ''] = /countersign unfreeze (freeze_restored_\w+)/.exec(stdout) ?? [];
  expect(stdout).toContain('countersign runs list --status running');
  expect(await place.countersign(['unfreeze', id, ...restored])).toMatchObject(done('Lifted: every call.'));
  expect((await place.countersign(['doctor', ...restored])).stdout).toMatch(/freezes +nothing is/);
});
