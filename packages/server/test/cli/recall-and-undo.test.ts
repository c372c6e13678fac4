// `recall` and `undo`: an approved call is taken back before it starts, or after it ran.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { workplaceForEach } from './workplace.ts';

const TIMEOUT = { timeout: 120_000 };
const place = workplaceForEach();
const call = (tool: string): string => `call ${tool} {"toAccount":"DE02"}`;
const ledger = (): string => readFileSync(place.path('ledger'), 'utf8');

/** Runs commands as Bea, directly on the store, beside a worker, or through a server. */
async function bea(on: string) {
  const server = on === 'server' ? await place.serving('--no-worker') : undefined;
  const env = server
    ? { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: await place.tokenFor('bea') }
    : { USER: 'bea', LEDGER: place.path('ledger') };
  if (!server) place.begin(['worker', 'agents.ts'], env);
  return (...args: readonly string[]) => place.countersign(args, env);
}

test.each(['store', 'server'])('on a %s, recall says that the call did not run', TIMEOUT, async (on) => {
  const [run = ''] = await place.start(call('holdMoney'));
  const [{ id }] = (await place.json('inbox')).items;
  const command = await bea(on);
  const early = await command('recall', id);
  expect(early.stderr).toContain('does not wait to start');
  expect(early.code).not.toBe(0);
  expect(await command('decide', id, '--approve', '--wait', '--timeout', '60')).toMatchObject({ code: 0 });
  expect((await command('show', run)).stdout).toContain('waits to be recalled');
  const recalled = await command('recall', id, '--reason', 'Twice.');
  expect(recalled).toMatchObject({ code: 0, stdout: `Recalled: ${id} did not run.\n` });
  const { stdout } = await command('recall', id, '--reason', 'Twice.', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ status: 'settled', by: 'bea', decision: { type: 'reject' } });
  expect((await command('show', run)).stdout).toContain('recalled');
});

test.each(['store', 'server'])('on a %s, undo says how far it is, and undoes once', TIMEOUT, async (on) => {
  const [run = ''] = await place.start(call('lendMoney'));
  const [{ id }] = (await place.json('inbox')).items;
  const command = await bea(on);
  expect(await command('decide', id, '--approve', '--wait', '--timeout', '60')).toMatchObject({ code: 0 });
  await expect.poll(ledger, { timeout: 30_000 }).toBe('DE02\n');
  await expect
    .poll(() => command('undo', id), { timeout: 30_000 })
    .toMatchObject({ code: 0, stdout: expect.stringMatching(/^lendMoney: waits\. /) });
  const { steps } = JSON.parse((await command('undo', run, '--json')).stdout);
  expect(steps).toMatchObject([{ status: 'waits' }]);
  expect(await command('decide', steps[0].requestId, '--approve', '--wait', '--timeout', '60')).toMatchObject({
    code: 0,
  });
  await expect
    .poll(async () => (await command('undo', id)).stdout, { timeout: 30_000 })
    .toMatch(/^lendMoney: undone\. /);
  expect(ledger()).toBe('DE02\nback receipt of DE02\n');
});
