// `countersign watch` in a real terminal, and through a server that goes away.
import { expect, test } from 'vitest';
import { KEYS } from './pty.ts';
import { ASK, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();
const LONG = { timeout: 120_000 };
const BELL = '\u0007';
const rings = (text: string): number => text.split(BELL).length - 1;

test('prints and rings for a new request, says how it was decided, and ends with 130', LONG, async () => {
  await place.start(ASK);
  const terminal = place.terminal(['watch'], { columns: 200 });
  await terminal.says(/Watching sqlite:\S+: 1 pending\. Press Ctrl-C to stop\./);
  const [run = ''] = await place.start(PAY);
  await terminal.says(new RegExp(`\\d [AP]M {2}transferMoney · high risk · assistant for ann {2}${run}:`));
  await expect.poll(() => rings(terminal.output())).toBe(1);
  const [id] = (await place.json('show', run)).pending;
  await place.json('decide', id, '--reject', '--reason', 'too much', '--by', 'cem');
  await terminal.says(/transferMoney {2}cem \(cli\) at .*: rejected: too much/);
  terminal.press(KEYS.interrupt);
  expect(await terminal.ended).toBe(130);
  expect(rings(terminal.output())).toBe(1);
  expect(terminal.output()).not.toMatch(/DE02|grill/);
});

test('through a server: lines of JSON without inputs, and nothing is lost while the server is away', LONG, async () => {
  const first = await place.serving();
  const COUNTERSIGN_TOKEN = await place.tokenFor('ann');
  const watching = place.begin(['watch', '--mine', '--url', first.url], { COUNTERSIGN_TOKEN });
  const lines = place.begin(['watch', '--json', '--url', first.url], { COUNTERSIGN_TOKEN });
  await watching.says(/0 pending/);
  await lines.says(/"watching","pending":"0"\}\n/);
  first.child.kill('SIGKILL');
  await watching.says(/Lost connection to http:.* Retrying/);
  const [run = ''] = await place.start(PAY);
  await place.serving('--port', new URL(first.url).port);
  await watching.says(new RegExp(`transferMoney · high risk · assistant for ann {2}${run}:`));
  const [line] = await lines.says(/.+\n/);
  expect(JSON.parse(line)).toMatchObject({ type: 'opened', runId: run, tool: 'transferMoney', mayDecide: true });
  expect(watching.output() + lines.output()).not.toMatch(/DE02/);
  expect(rings(watching.output())).toBe(0);
});
