// The inbox and its terminal: stopped and continued, made larger and smaller, long lists and long cards.
import { expect, test } from 'vitest';
import { KEYS } from './pty.ts';
import { PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const LIST = '↵ look';
const LONG = { timeout: 120_000 };

test('Ctrl-Z gives the terminal to the shell, and fg comes back to what was on the screen', LONG, async () => {
  await place.start(PAY);
  const { shows, press, ended, output } = place.terminal(['inbox'], { isJob: true });
  await shows(LIST);
  press('r');
  await shows('Why?');
  press('too dear');
  await shows('› too dear');
  press('\u001a');
  await expect.poll(output, { timeout: 30_000 }).toContain('stopped');
  expect(output()).toMatch(/ icanon[\s\S]*stopped/);
  expect(output().lastIndexOf('\u001b[?1049l')).toBeGreaterThan(output().lastIndexOf('\u001b[?1049h'));
  press('\n');
  await shows('› too dear');
  press(KEYS.enter);
  await shows('rejected: too dear');
  press('q');
  expect(await ended).toBe(0);
});

test('Ctrl-Z where no shell could continue it changes nothing', LONG, async () => {
  await place.start(PAY);
  const { shows, press, ended, output } = place.terminal(['inbox']);
  await shows(LIST);
  press('\u001a');
  await expect.poll(() => output().split('\u001b[?1049h').length, { timeout: 30_000 }).toBe(3);
  press(KEYS.enter);
  await shows('It would run with');
  press('q');
  await shows(LIST);
  press('q');
  expect(await ended).toBe(0);
});

test(
  'a window that is made larger or smaller is drawn anew; in one that shows nothing, nothing is decided',
  LONG,
  async () => {
    const [run = ''] = await place.start(PAY);
    const { shows, press, ended, resize } = place.terminal(['inbox']);
    await shows(LIST);
    resize({ columns: 30, rows: 10 });
    const narrow = await shows('q quit');
    expect(narrow.split('\n')).toHaveLength(10);
    expect(narrow).toContain('? help');
    press('a');
    await shows('Approve?');
    resize({ columns: 100, rows: 30 });
    expect((await shows('Approve?')).split('\n')).toHaveLength(30);
    resize({ columns: 18, rows: 5 });
    await shows('Make the window');
    press(`y${KEYS.interrupt}`);
    expect(await ended).toBe(130);
    expect((await place.json('show', run)).status).toBe('waiting');
  },
);

test('a long list scrolls to its end and back, in a short window', LONG, async () => {
  const prompts = Array.from({ length: 130 }, (_, index) => `call askQuestion {"question":"Number ${index + 1}?"}`);
  await place.start(...prompts);
  const { shows, press, ended, screen } = place.terminal(['inbox'], { rows: 10 });
  expect(await shows(LIST)).toContain('100+ waiting');
  press('G');
  await shows('130 waiting');
  press('G');
  const end = await shows(/› .*Number 130\?/);
  expect(end).toMatch(/▲ \d+ above/);
  press(KEYS.up);
  await shows(/› .*Number 129\?/);
  press('\u001b[H');
  expect(await shows(/› .*Number 1\?/)).toMatch(/▼ \d+ more below/);
  press('q');
  expect(await ended).toBe(0);
  expect(screen.overflows).toEqual([]);
});

test('the help can be read to its end in a short window', LONG, async () => {
  await place.start(PAY);
  const { shows, press, ended, screen } = place.terminal(['inbox'], { rows: 10, columns: 40 });
  await shows('transferMoney');
  press('?');
  await shows('move, or scroll a card');
  press(KEYS.down.repeat(40));
  await shows('nothing of yours is recorded.');
  press('x');
  await shows('› transferMoney');
  press('q');
  expect(await ended).toBe(0);
  expect(screen.overflows).toEqual([]);
});

test(
  'a long card is read page by page, also while it is asked about, and a jump to its end is not reading',
  LONG,
  async () => {
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}`).join('\n');
    await place.start(`call transferMoney ${JSON.stringify({ toAccount: lines, amount: 9 })}`);
    const { shows, press, ended } = place.terminal(['inbox'], { rows: 14 });
    await shows(LIST);
    press('a');
    await shows('You have not seen all of it');
    press('\u001b[F');
    expect(await shows('run   run_')).toContain('You have not seen all of it');
    press('\u001b[H');
    await shows('line 1\n');
    for (const line of [9, 17, 25, 33, 41, 49]) {
      press('\u001b[6~');
      await shows(`line ${line}\n`);
    }
    press('\u001b[6~\u001b[6~\u001b[6~');
    expect(await shows('run   run_')).not.toContain('You have not seen all of it');
    press('n');
    await shows('t give back');
    press('q');
    await shows(LIST);
    press('q');
    expect(await ended).toBe(0);
  },
);

test('a long text is pasted at once', LONG, async () => {
  const [run = ''] = await place.start(PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  press('r');
  await shows('Why?');
  const text = 'too dear, für uns alle; '.repeat(1_000);
  press(`\u001b[200~${text}the end\u001b[201~`);
  await shows(/alle; the end$/m);
  press(KEYS.enter);
  await shows('rejected: too dear');
  press('q');
  expect(await ended).toBe(0);
  const [card] = (await place.json('inbox', '--settled', '--run', run)).items;
  expect(card.decision.reason).toBe(`${text}the end`);
});
