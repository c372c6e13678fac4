// The inbox in a real terminal: what is on the screen, what the keys do, and how the terminal is left.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KEYS } from './pty.ts';
import { ASK, BOOK, HOSTILE, type InTerminal, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const settled = async (runId: string) => (await place.json('inbox', '--settled', '--run', runId)).items[0]?.decision;
const LIST = '↵ look';

test('at 80×24: the list, a card with everything on it, an approval', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start(PAY, ASK);
  const { shows, press, ended, screen, output } = place.terminal(['inbox']);
  const list = await shows(LIST);
  expect(list.split('\n')[0]).toMatch(/^ Countersign inbox · sqlite:\.\/\.countersign\/runs\.sqlite +2 waiting$/);
  expect(list.split('\n')[1]).toMatch(/^ › HIGH {2}transferMoney .*toAccount "DE02", amount 950 {2}More than 500: 9…$/);
  expect(list.split('\n')[2]).toMatch(/^ {9}askQuestion .*Which grill\?$/);
  expect(list.split('\n')).toHaveLength(24);
  press(KEYS.enter);
  const card = await shows('It would run with');
  for (const part of [
    'asks for approval · high risk · payments',
    'agent assistant, for ann',
    run,
    'More than 500: 950.',
  ])
    expect(card).toContain(part);
  expect(card).toMatch(/toAccount {2}DE02\n {3}amount {5}950/);
  expect(card).toContain('a approve · e edit · r reject');
  press('a');
  await shows('Approve? transferMoney runs with exactly what is shown.');
  press('y');
  await shows(/transferMoney: ben \(cli\) at .*: approved/);
  await shows('1 waiting');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ type: 'approve', by: 'ben', channel: 'cli' });
  expect(screen.overflows).toEqual([]);
  expect(output()).toMatch(/ icanon/);
  expect(output()).toMatch(/ echo /);
  expect(output().lastIndexOf('\u001b[?1049l')).toBeGreaterThan(output().lastIndexOf('\u001b[?1049h'));
  expect(output().lastIndexOf('\u001b[?25h')).toBeGreaterThan(output().lastIndexOf('\u001b[?25l'));
});

test('Enter, or a y that is pasted, approves nothing', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start(PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  press('a');
  await shows('Approve?');
  press(KEYS.enter);
  press('\u001b[200~yyy\u001b[201~');
  press(KEYS.down);
  await shows('Approve?');
  press('n');
  await shows('a approve');
  press('q');
  await shows(LIST);
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toBeUndefined();
});

test('what is pasted into a line is text, its line ends included', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start(PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  press('r');
  await shows('Why?');
  press('\u001b[200~too\rdear\u001b[201~');
  await shows('› too dear');
  press(KEYS.enter);
  await shows('rejected: too dear');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ type: 'reject', reason: 'too dear' });
});

test('a rejection asks for the reason, and arrow keys choose the card', { timeout: 120_000 }, async () => {
  const [, run = ''] = await place.start(ASK, PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(/› +askQuestion/);
  press(KEYS.down);
  await shows(/› HIGH +transferMoney/);
  press(KEYS.up);
  await shows(/› +askQuestion/);
  press('j');
  await shows(/› HIGH/);
  press('r');
  await shows('Reject transferMoney. Why?');
  press('too daer');
  await shows('› too daer');
  press(`${KEYS.left}\u007f\u007f`);
  await shows('› too dr');
  press('ea');
  await shows('› too dear');
  press(KEYS.enter);
  await shows('rejected: too dear');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ type: 'reject', reason: 'too dear', by: 'ben' });
});

test('an edit opens the editor, is checked, and shows what it changes before it is sent', {
  timeout: 120_000,
}, async () => {
  const [run = ''] = await place.start(PAY);
  // The editor of a person who first writes no JSON, then what does not fit, then what does.
  const editor = place.path('editor.mjs');
  writeFileSync(
    editor,
    `import { existsSync, readFileSync, writeFileSync } from 'node:fs';
    const file = process.argv.at(-1);
    const log = ${JSON.stringify(place.path('edited'))};
    const before = existsSync(log) ? readFileSync(log, 'utf8') : '';
    writeFileSync(log, before + readFileSync(file, 'utf8') + '---');
    const turn = before.split('---').length;
    writeFileSync(file, turn === 1 ? '{ "amount": ' : JSON.stringify({ toAccount: 'DE02', amount: turn === 2 ? 99999 : 90 }));`,
  );
  const { shows, press, ended } = place.terminal(['inbox'], { env: { EDITOR: `${process.execPath} ${editor}` } });
  await shows(LIST);
  press('e');
  await shows('This is no JSON');
  press('e');
  await shows('It does not fit: amount');
  press('e');
  const difference = await shows('Approve transferMoney with this change?');
  expect(difference).toMatch(/- amount {2}950\n \+ amount {2}90/);
  expect(difference).not.toMatch(/[-+] toAccount/);
  press('y');
  await shows('approved with edited input');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ type: 'approve', edit: { toAccount: 'DE02', amount: 90 } });
  expect(readFileSync(place.path('edited'), 'utf8')).toMatch(
    /^\{\n {2}"toAccount": "DE02",\n {2}"amount": 950\n\}\n---\{ "amount":\n---/,
  );
});

test('without an editor an edit goes field by field', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start(PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  press('e');
  await shows('› toAccount  DE02');
  press(KEYS.down);
  await shows('› amount     950');
  press(KEYS.enter);
  await shows(/^ amount\n › 950/m);
  press('\u0015lots');
  press(KEYS.enter);
  await shows('A number, as in 90');
  press('\u001590');
  press(KEYS.enter);
  await shows('› memo');
  press(KEYS.down);
  await shows('› done');
  press(KEYS.enter);
  await shows(/- amount {2}950\n \+ amount {2}90/);
  press('y');
  await shows('approved with edited input');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ edit: { toAccount: 'DE02', amount: 90 } });
});

test('a question is answered from its choices, or in own words', { timeout: 120_000 }, async () => {
  const [one = '', two = ''] = await place.start(ASK, ASK);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  press('w');
  await shows('› 1. Gas');
  press(KEYS.down);
  await shows('› 2. Coal');
  press(KEYS.enter);
  await shows('answered: "Coal"');
  await shows('1 waiting');
  press('a');
  await shows('3. something else');
  press('3');
  await shows('› 3.');
  press(KEYS.enter);
  await shows(/Your answer\n ›$/m);
  press('Wood 🔥');
  press(KEYS.enter);
  await shows('answered: "Wood 🔥"');
  press('q');
  expect(await ended).toBe(0);
  expect([await settled(one), await settled(two)]).toMatchObject([{ output: 'Coal' }, { output: 'Wood 🔥' }]);
});

test('an answer with fields is a form, checked before it is sent', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start(BOOK);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  press('w');
  await shows('› guests  (missing)');
  press(KEYS.enter);
  await shows(/^ guests\n ›$/m);
  press('0');
  press(KEYS.enter);
  await shows('› where');
  press(KEYS.enter);
  await shows('› 1. inside');
  press('2');
  await shows('› 2. garden');
  press(KEYS.enter);
  await shows('› vegan');
  press(KEYS.enter);
  await shows('› 1. yes');
  press(KEYS.enter);
  await shows('› done');
  press(KEYS.enter);
  await shows('It does not fit: guests');
  press('e');
  await shows('› guests  0');
  press(KEYS.enter);
  await shows('› 0');
  press('\u00154');
  press(KEYS.enter);
  await shows('› where   garden');
  press(KEYS.down + KEYS.down);
  await shows('› done');
  press(KEYS.enter);
  await shows('Nothing waits for a person.');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ output: { guests: 4, where: 'garden', vegan: true } });
});

test('what others do is seen: new cards come, and a decided one says who was first', { timeout: 120_000 }, async () => {
  const [run = ''] = await place.start(PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows('1 waiting');
  await place.start(ASK);
  await shows('2 waiting');
  press(KEYS.enter);
  await shows('It would run with');
  const [id] = (await place.json('show', run)).pending;
  await place.json('decide', id, '--reject', '--by', 'cem');
  const card = await shows(/Decided\. cem \(cli\) at .*rejected/);
  expect(card).not.toContain('a approve');
  press('a');
  press('q');
  await shows('1 waiting');
  press('q');
  expect(await ended).toBe(0);
  expect(await settled(run)).toMatchObject({ type: 'reject', by: 'cem' });
});

test.each([
  ['somebody', 'cem', /Somebody was first, and nothing of yours was recorded\. cem/],
  ['oneself, elsewhere,', 'ben', /You had decided before: this was not recorded\. ben/],
])(
  '%s who was first while the question was on the screen is named, and nothing is recorded',
  {
    timeout: 120_000,
  },
  async (_who, by, told) => {
    const [run = ''] = await place.start(PAY);
    const { shows, press, ended } = place.terminal(['inbox']);
    await shows(LIST);
    press('a');
    await shows('Approve?');
    const [id] = (await place.json('show', run)).pending;
    await place.json('decide', id, '--reject', '--by', by);
    press('y');
    await shows(told);
    press('q');
    expect(await ended).toBe(0);
  },
);

test('hostile text never reaches the terminal, and 40×12 is enough', { timeout: 120_000 }, async () => {
  await place.start(HOSTILE);
  const { shows, press, ended, screen } = place.terminal(['inbox'], { columns: 40, rows: 12 });
  // The screen of the test throws at any control character that the inbox does not write itself.
  await shows('transferMoney');
  press(KEYS.enter);
  await shows('asks for approval');
  await shows('▼');
  press('a');
  await shows('You have not seen all of it');
  press('jjjj');
  await shows('evil<U+001B>[2J<U+202E>');
  press('n');
  await shows('a approve');
  press(KEYS.left);
  await shows('↵ look');
  press('q');
  expect(await ended).toBe(0);
  expect(screen.overflows).toEqual([]);
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s restores the terminal', { timeout: 120_000 }, async (signal, code) => {
  await place.start(PAY);
  const terminal = place.terminal(['inbox']);
  await terminal.shows(LIST);
  process.kill(terminal.programId(), signal);
  expect(await terminal.ended).toBe(code);
  expect(terminal.output()).toMatch(/ icanon/);
  expect(terminal.output().lastIndexOf('\u001b[?1049l')).toBeGreaterThan(
    terminal.output().lastIndexOf('\u001b[?1049h'),
  );
});

test('a store that goes away is said, and the list is kept', { timeout: 120_000 }, async () => {
  await place.start(PAY);
  const { shows, press, ended } = place.terminal(['inbox']);
  await shows(LIST);
  writeFileSync(place.path('.countersign/runs.sqlite'), 'no database any more');
  const screen = await shows('Cannot load what waits');
  expect(screen).toContain('transferMoney');
  press('q');
  expect(await ended).toBe(0);
});

test.each([
  ['Ctrl-C', 130, (terminal: InTerminal) => terminal.press(KEYS.interrupt)],
  ['? and then q', 0, (terminal: InTerminal) => terminal.press('?')],
])('%s: the terminal is left as it was', { timeout: 120_000 }, async (name, code, act) => {
  await place.start(PAY);
  const terminal = place.terminal(['inbox'], { env: { NO_COLOR: '1' } });
  await terminal.shows(LIST);
  act(terminal);
  if (name.startsWith('?')) {
    await terminal.shows('A decision is recorded once.');
    terminal.press('x');
    await terminal.shows(LIST);
    terminal.press('q');
  }
  expect(await terminal.ended).toBe(code);
  expect(terminal.output()).toMatch(/ icanon/);
  expect(terminal.output()).toContain('\u001b[?1049l');
  expect(terminal.output()).not.toContain('\u001b[31m');
});
