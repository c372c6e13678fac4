// `dev`, `serve` and `worker` stop while a payment runs: it finishes first, unless a second signal comes.
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../../../countersign/test/eventually.ts';
import { FIXTURES, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const LONG = { timeout: 120_000 };
const ledger = (): string => (existsSync(place.path('ledger')) ? readFileSync(place.path('ledger'), 'utf8') : '');

/** Starts a command and waits until a payment runs; returns the id of the paying process. */
async function paying(command: string, ...args: readonly string[]) {
  const [run = ''] = await place.start(PAY);
  const [id] = (await place.json('show', run)).pending;
  await place.json('decide', id, '--approve');
  const env = { LEDGER: place.path('ledger'), HOLD: place.path('released') };
  const port = command === 'worker' ? [] : ['--port', '0'];
  const running = place.begin([command, 'agents.ts', ...port, ...args], env);
  const pid = await eventually(() =>
    Number(/begun by (\d+)/.exec(ledger())?.[1] ?? expect.fail('The payment has not started.')),
  );
  const release = () => writeFileSync(place.path('released'), '');
  return { ...running, run, pid, release };
}

test.each(['serve', 'worker', 'dev'])('%s finishes a payment when its terminal closes', LONG, async (command) => {
  const { child, pid, ended, release, run } = await paying(command);
  // A closed terminal signals every process in it.
  for (const told of new Set([pid, child.pid ?? 0])) process.kill(told, 'SIGHUP');
  release();
  expect(await ended).toBe(0);
  expect(ledger()).toContain('DE02 950');
  expect((await place.json('show', run)).pending).toEqual([]);
});

test.each(['serve', 'worker'])('%s reports a result that was not recorded, and fails', LONG, async (command) => {
  copyFileSync(join(FIXTURES, 'forgetful-agents.ts'), place.path('agents.ts'));
  const { child, ended, says, output } = place.begin([
    command,
    'agents.ts',
    ...(command === 'serve' ? ['--port', '0'] : []),
  ]);
  await says(/Paying/);
  await says(/Press Ctrl-C to stop/);
  child.kill('SIGTERM');
  expect(await ended).toBe(1);
  expect(output()).toMatch(
    /error: .*Could not record the result of call call_\S+ of run run\. Check whether it happened/,
  );
  expect(output()).not.toContain('Stopped.');
});

test('a file that is still loading is reported once', LONG, async () => {
  writeFileSync(
    place.path('agents.ts'),
    'setInterval(() => {}, 1_000);\nexport default () => new Promise(() => {});\n',
  );
  const { child, ended, says, output } = place.begin(['worker', 'agents.ts']);
  await says(/Still loading agents\.ts/);
  child.kill('SIGTERM');
  await ended;
  expect(output().match(/Still loading/g)).toHaveLength(1);
});

test.each(['serve', 'dev'])('a second signal ends %s at once', LONG, async (command) => {
  const { child, ended, says, pid } = await paying(command);
  child.kill('SIGTERM');
  await says(/again to stop at once/);
  child.kill('SIGTERM');
  expect(await ended).toBe(143);
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow());
  expect(ledger()).not.toContain('DE02 950');
});

test.each(['serve', 'dev'])('%s survives a closed log', LONG, async (command) => {
  const { child, ended, release, says } = await paying(command, '--json');
  const [, url] = await says(/"url":"([^"]+)"/);
  child.stdout?.destroy();
  // Each request is a line in the log.
  for (let asked = 0; asked < 3; asked += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  release();
  await eventually(() => expect(ledger()).toContain('DE02 950'));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test.each(['serve', 'dev'])('a reader that hangs does not keep %s from ending', LONG, async (command) => {
  const { child, says } = place.begin([command, 'agents.ts', '--port', '0', '--json']);
  const [, url] = await says(/"url":"([^"]+)"/);
  const exited = new Promise((resolve) => child.on('exit', resolve));
  child.stdout?.pause();
  // More lines than the pipe can buffer.
  const ask = async () => (await fetch(`${url}/healthz`)).text();
  for (let times = 0; times < 12; times += 1) await Promise.all(Array.from({ length: 50 }, ask));
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
});

test('dev finishes a payment across file changes and a stop', LONG, async () => {
  const { child, ended, release, run, says } = await paying('dev');
  const source = readFileSync(place.path('agents.ts'), 'utf8');
  for (const end of ['\n', '\n\n']) {
    writeFileSync(place.path('agents.ts'), source + end);
    await says(/agents\.ts changed/);
  }
  child.kill('SIGTERM');
  await says(/Stopping/);
  release();
  expect(await ended).toBe(0);
  expect(ledger()).toContain('DE02 950');
  expect((await place.json('show', run)).pending).toEqual([]);
});

test('dev stops while a model does not respond', LONG, async () => {
  const [run = ''] = await place.start(PAY);
  const [id] = (await place.json('show', run)).pending;
  await place.json('decide', id, '--reject');
  const env = { LEDGER: place.path('ledger'), SILENT: 'yes' };
  const { child, ended, output } = place.begin(['dev', 'agents.ts', '--port', '0'], env);
  await eventually(() => expect(ledger()).toContain('asked by'));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(output()).not.toContain('outcome');
});

test('a serving process whose parent dies while it starts ends cleanly', LONG, async () => {
  const source = readFileSync(place.path('agents.ts'), 'utf8');
  const held = `import { existsSync, writeFileSync } from 'node:fs';
writeFileSync('loading', '');
while (!existsSync('lost')) await new Promise((resolve) => setTimeout(resolve, 10));
`;
  writeFileSync(place.path('agents.ts'), held + source.replace('appendFileSync, existsSync', 'appendFileSync'));
  const { child, ended, output, says } = place.begin(['dev', 'agents.ts', '--port', '0']);
  await eventually(() => expect(existsSync(place.path('loading'))).toBe(true));
  child.kill('SIGKILL');
  await new Promise((resolve) => child.on('exit', resolve));
  writeFileSync(place.path('lost'), '');
  await says(/serving assistant/);
  await ended;
  expect(output()).not.toMatch(/Error|Unhandled/);
});
