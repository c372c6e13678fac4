// Holds in the terminal: who begins to decide is seen by the others, and what they leave is free again.
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KEYS } from './pty.ts';
import { type InTerminal, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const LIST = '↵ look';
const LONG = { timeout: 120_000 };
const holds = async (): Promise<readonly unknown[]> =>
  (await place.json('inbox')).items.map(({ hold }: { hold: { by: string } | null }) => hold?.by ?? null);
const person = (name: string) => place.terminal(['inbox', '--by', name]);

test('who sets about to decide has the card until they go back; who looks does not', LONG, async () => {
  await place.start(PAY);
  const [ann, ben] = [person('ann'), person('ben')];
  await Promise.all([ann.shows(LIST), ben.shows(LIST)]);
  ann.press(KEYS.enter);
  await ann.shows('t take');
  expect(await holds()).toEqual([null]);
  ann.press('a');
  await ben.shows('[ann] toAccount "DE02"');
  await ann.shows('you work on it');
  expect(await holds()).toEqual(['ann']);
  ann.press('n');
  await ann.shows('t give back');
  ann.press('q');
  await ann.shows(LIST);
  await ben.shows((screen) => !screen.includes('[ann]'));
  expect(await holds()).toEqual([null]);
});

test('a card of another says so, and can be decided all the same', LONG, async () => {
  const [run = ''] = await place.start(PAY);
  const [ann, ben] = [person('ann'), person('ben')];
  await Promise.all([ann.shows(LIST), ben.shows(LIST)]);
  ann.press('r');
  await ann.shows('Why?');
  await ben.shows('[ann]');
  ben.press(KEYS.enter);
  const card = await ben.shows(/ann works on it until \d\d:\d\d:\d\d/);
  expect(card).not.toContain('t take');
  ben.press('t');
  await ben.shows(/ann is reviewing run_\S+ until/);
  ben.press('a');
  await ben.shows(/ann works on it until \d\d:\d\d:\d\d\. You may decide all the same\./);
  ben.press('y');
  await ben.shows(/ben \(cli\) at .*approved/);
  const [decided] = (await place.json('inbox', '--settled', '--run', run)).items;
  expect(decided).toMatchObject({ decision: { type: 'approve', by: 'ben' }, hold: null });
});

test('`decide` says whose card it is, and decides', LONG, async () => {
  const [run = ''] = await place.start(PAY);
  const ann = person('ann');
  await ann.shows(LIST);
  ann.press('t');
  await ann.shows('[you]');
  const [id] = (await place.json('show', run)).pending;
  const decided = await place.countersign(['decide', id, '--approve']);
  expect(decided).toMatchObject({ code: 0 });
  expect(decided.stderr).toMatch(/^ann works on it until \d\d:\d\d:\d\d; a hold locks nothing\.\n$/);
});

test('t takes a card in the list and keeps it after a look, t again gives it back', LONG, async () => {
  await place.start(PAY);
  const { shows, press } = person('ann');
  await shows(LIST);
  press('t');
  await shows('[you] toAccount');
  expect(await holds()).toEqual(['ann']);
  press('a');
  await shows('Approve?');
  press('n');
  await shows('t give back');
  press('q');
  await shows(LIST);
  expect(await holds()).toEqual(['ann']);
  press('t');
  await shows('Given back');
  expect(await holds()).toEqual([null]);
});

describe('nothing stays held by those who leave', LONG, () => {
  test.each([
    ['q', 0, (terminal: InTerminal) => terminal.press('q')],
    ['Ctrl-C', 130, (terminal: InTerminal) => terminal.press(KEYS.interrupt)],
    ['SIGHUP', 129, (terminal: InTerminal) => process.kill(terminal.programId(), 'SIGHUP')],
  ])('with %s', async (_name, code, leave) => {
    await place.start(PAY);
    const terminal = person('ann');
    await terminal.shows(LIST);
    terminal.press('t');
    await terminal.shows('[you]');
    leave(terminal);
    expect(await terminal.ended).toBe(code);
    expect(await holds()).toEqual([null]);
  });

  test('with the window that is closed', async () => {
    await place.start(PAY);
    const terminal = person('ann');
    await terminal.shows(LIST);
    terminal.press('t');
    await terminal.shows('[you]');
    const program = terminal.programId();
    terminal.child.kill('SIGKILL');
    await expect.poll(() => existsSync(`/proc/${program}`), { timeout: 30_000 }).toBe(false);
    expect(await holds()).toEqual([null]);
  });
});

test('through a server, the hold is that of the token, and what was held elsewhere is seen', LONG, async () => {
  await place.start(PAY);
  const { url } = await place.serving();
  const [ann, ben] = await Promise.all(
    ['ann', 'ben'].map(async (name) => {
      const COUNTERSIGN_TOKEN = await place.tokenFor(name);
      return place.terminal(['inbox', '--url', url], { env: { COUNTERSIGN_TOKEN } });
    }),
  );
  await Promise.all([ann?.shows(LIST), ben?.shows(LIST)]);
  ann?.press('a');
  await ben?.shows('[ann]');
  expect(await holds()).toEqual(['ann']);
  ben?.press('t');
  await ben?.shows(/ann is reviewing run_\S+ until/);
  ann?.press('y');
  await ann?.shows(/ann \(cli\) at .*approved/);
  await ben?.shows('Nothing waits for a person.');
});
