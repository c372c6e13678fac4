// `countersign gate`: a command runs after a person has approved it, at most once per key, through crashes.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createClient } from '@countersign/server/client';
import { expect, test } from 'vitest';
import { workplaceForEach } from './workplace.ts';

const place = workplaceForEach();
const TIMEOUT = 120_000;
const WRITE = ['sh', '-c', 'echo "$COUNTERSIGN_INPUT" >> acted; echo said'];
const acted = (): readonly string[] => readFileSync(place.path('acted'), 'utf8').trim().split('\n');
const gate = (key: string, ...more: readonly string[]) => [
  'gate',
  'deploy',
  '--input',
  '{"to":"live"}',
  '--key',
  key,
  ...more,
];

test('on a server, it waits, runs the approved input once, and records the output', { timeout: TIMEOUT }, async () => {
  const server = await place.serving();
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: await place.tokenFor('ci') };
  const boss = createClient(server.url, { token: await place.tokenFor('boss') });
  const both = [1, 2].map(() => place.spawned([...gate('one'), '--wait', '--title', 'Go live', '--', ...WRITE], env));
  const pending = async () => (await boss.requests.list({ tool: 'deploy' })).items[0];
  await expect.poll(pending, { timeout: 60_000 }).toMatchObject({ title: 'Go live', startedBy: 'ci' });
  const { id = '' } = (await pending()) ?? {};
  await boss.requests.decide(id, { decision: { type: 'approve', edit: { to: 'test' } } });
  const results = await Promise.all(both);
  expect(results.filter(({ code, stdout }) => code === 0 && stdout === 'said\n')).not.toEqual([]);
  expect(acted()).toEqual(['{"to":"test"}']);
  const again = await place.countersign([...gate('one'), '--', ...WRITE], env);
  expect(again).toMatchObject({ code: 0, stdout: 'said\n', stderr: expect.stringContaining('done before') });

  const failing = [...gate('two'), '--json', '--', 'sh', '-c', 'exit 7'];
  expect(JSON.parse((await place.countersign(failing, env)).stderr).error).toMatchObject({
    code: 'pending',
    exitCode: 1,
  });
  await boss.requests.decide((await pending())?.id ?? '', { decision: { type: 'approve' } });
  const failed = await place.countersign(failing, env);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stderr).error).toMatchObject({
    code: 'failed',
    message: expect.stringContaining('exit code 7'),
  });
  expect(acted()).toHaveLength(1);
});

test('on a store, a command that is killed after its effect is in doubt, and is not run again', {
  timeout: TIMEOUT,
}, async () => {
  await place.json('migrate');
  const killed = [...gate('k', '--lease', '1', '--by', 'ann'), '--', 'sh', '-c', 'echo x >> acted; kill -9 $PPID'];
  expect(await place.countersign(killed)).toMatchObject({ code: 1, stderr: expect.stringContaining('not run') });
  const [request] = (await place.json('inbox', '--list')).items;
  await place.json('decide', request.id, '--approve', '--by', 'bea');
  expect((await place.spawned(killed)).code).toBe(null);
  expect(acted()).toEqual(['x']);
  await expect
    .poll(async () => (await place.countersign(killed)).stderr, { timeout: 30_000 })
    .toContain('its outcome is unknown');
  expect(acted()).toEqual(['x']);
});

test('a rejected command and a program that does not exist never act', { timeout: TIMEOUT }, async () => {
  await place.json('migrate');
  writeFileSync(place.path('acted'), 'nothing');
  for (const [key, verb, program, says] of [
    ['r', '--reject', 'sh', 'not run'],
    ['m', '--approve', './missing-program', 'could not be started'],
  ] as const) {
    const command = [...gate(key), '--', program, '-c', 'echo x >> acted'];
    await place.countersign(command);
    const [request] = (await place.json('inbox', '--list')).items;
    await place.json('decide', request.id, verb);
    expect(await place.countersign(command)).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
  }
  expect(acted()).toEqual(['nothing']);
});

test('a command that was sent back never acts, and the changed one is the second round', {
  timeout: TIMEOUT,
}, async () => {
  await place.json('migrate');
  const act = ['--', 'sh', '-c', 'echo x >> acted'];
  await place.countersign([...gate('first'), ...act]);
  const [first] = (await place.json('inbox', '--list')).items;
  expect(await place.countersign(['decide', first.id, '--revise', ' '])).toMatchObject({ code: 2 });
  const decided = await place.countersign(['decide', first.id, '--revise', 'Only one.', '--by', 'bea']);
  expect(decided).toMatchObject({ code: 0, stdout: expect.stringContaining('asked for changes: Only one.') });
  const told = await place.countersign([...gate('first'), ...act]);
  expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining('a person asks for changes: Only one.') });
  expect(told.stderr).toContain(`--revises ${first.runId}`);
  await place.countersign([...gate('second'), '--revises', first.runId, ...act]);
  const [second] = (await place.json('inbox', '--list')).items;
  expect(second).toMatchObject({ previous: { requestId: first.id, comment: 'Only one.', by: 'bea', round: 1 } });
  expect(existsSync(place.path('acted'))).toBe(false);
  await place.json('decide', second.id, '--approve', '--by', 'bea');
  expect(await place.countersign([...gate('second'), '--revises', first.runId, ...act])).toMatchObject({ code: 0 });
  expect(acted()).toEqual(['x']);
});
