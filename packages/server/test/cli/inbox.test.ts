// The inbox in a real terminal: its output, its records, and the state of the terminal after it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KEYS, pasted } from './pty.ts';
import { ASK, BOOK, HOSTILE, type InTerminal, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();
const LONG = { timeout: 120_000 };

const settled = async (runId: string) => (await place.json('inbox', '--settled', '--run', runId)).items[0]?.decision;
const holders = async (): Promise<readonly unknown[]> =>
  (await place.json('inbox')).items.map(
    ({ assignee }: { assignee: { person: string } | null }) => assignee?.person ?? null,
  );
const inboxOf = (person: string) => place.terminal(['inbox', '--by', person]);
/** Quits with Esc and expects a clean end. */
async function quit({ says, press, ended }: InTerminal): Promise<void> {
  await says(/Esc to quit/);
  press(KEYS.escape);
  expect(await ended).toBe(0);
}

describe('deciding', LONG, () => {
  test('the exact input is shown before an approval, and the terminal is restored', async () => {
    const [run = ''] = await place.start(PAY, ASK);
    const terminal = place.terminal(['inbox']);
    const { says, pick, press, output } = terminal;
    await says(/Countersign inbox · sqlite:\.\/\.countersign\/runs\.sqlite/);
    await says(/2 pending/);
    await pick('transferMoney · high risk');
    await says(/Needs approval · high risk · payments[\s\S]*More than 500: 950\./);
    await says(/Input it would run with\s+│ {4}toAccount {2}DE02\s+│ {4}amount {5}950/);
    await says(new RegExp(`Agent assistant, started by ann[\\s\\S]*${run}`));
    await pick('Approve');
    await says(/Approve\? transferMoney runs with exactly the input above\./);
    press('y');
    await says(/transferMoney: ben \(cli\) at .*: approved/);
    await says(/1 pending/);
    press(KEYS.escape);
    expect(await terminal.ended).toBe(0);
    expect(await settled(run)).toMatchObject({ type: 'approve', by: 'ben', channel: 'cli' });
    expect(output()).toMatch(/ icanon/);
    expect(output()).toMatch(/ echo /);
    expect(output().lastIndexOf('\u001b[?25h')).toBeGreaterThan(output().lastIndexOf('\u001b[?25l'));
  });

  test('Enter approves nothing, and neither does pasted text', async () => {
    const [run = ''] = await place.start(PAY);
    const terminal = place.terminal(['inbox']);
    const { says, pick, press } = terminal;
    await pick('transferMoney');
    // Enter takes the first option: Skip.
    await says(/● Skip/);
    press(KEYS.enter);
    await pick('transferMoney');
    await pick('Approve');
    await says(/Approve\?/);
    press(pasted('y\ry'));
    press(KEYS.enter);
    await quit(terminal);
    expect(await settled(run)).toBeUndefined();
  });

  test('a rejection carries its reason, and pasted line breaks become spaces', async () => {
    const [, run = ''] = await place.start(ASK, PAY);
    const terminal = place.terminal(['inbox']);
    await terminal.pick('transferMoney');
    await terminal.pick('Reject');
    await terminal.says(/Reject transferMoney\. Reason/);
    terminal.press(pasted('too\r\nexpensive'));
    await terminal.says(/too expensive/);
    terminal.press(KEYS.enter);
    await terminal.says(/rejected: too expensive/);
    await quit(terminal);
    expect(await settled(run)).toMatchObject({ type: 'reject', reason: 'too expensive', by: 'ben' });
  });

  test('an edit opens the editor, is validated, and shows the change before it is sent', async () => {
    const [run = ''] = await place.start(PAY);
    // This editor first writes broken JSON, then an invalid amount, then a valid one.
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
    const terminal = place.terminal(['inbox'], { env: { EDITOR: `${process.execPath} ${editor}` } });
    const { says, pick, press } = terminal;
    await pick('transferMoney');
    await pick('Edit');
    await says(/Not valid JSON[\s\S]*Edit again\?/);
    press('y');
    await says(/Invalid input: amount[\s\S]*Edit again\?/);
    press('y');
    const [change] = await says(
      /- amount {2}950\s+│ {2}\+ amount {2}90\b[\s\S]*Approve transferMoney with this change\?/,
    );
    expect(change).not.toContain('toAccount');
    press('y');
    await says(/approved with edited input/);
    await quit(terminal);
    expect(await settled(run)).toMatchObject({ type: 'approve', edit: { toAccount: 'DE02', amount: 90 } });
    expect(readFileSync(place.path('edited'), 'utf8')).toMatch(
      /^\{\n {2}"toAccount": "DE02",\n {2}"amount": 950\n\}\n---\{ "amount":\n---/,
    );
  });

  test('without an editor, an edit goes field by field', async () => {
    const [run = ''] = await place.start(PAY);
    const terminal = place.terminal(['inbox']);
    const { says, pick, press } = terminal;
    await pick('transferMoney');
    await pick('Edit');
    await says(/toAccount\s+│ {2}DE02/);
    press(KEYS.enter);
    await says(/amount\s+│ {2}950/);
    press('\u0015lots\r');
    await says(/Enter a number/);
    press('\u001590');
    await says(/90/);
    press(KEYS.enter);
    await says(/memo \(optional\)/);
    press(KEYS.enter);
    await says(/- amount {2}950\s+│ {2}\+ amount {2}90/);
    await says(/with this change\?/);
    press('y');
    await says(/approved with edited input/);
    await quit(terminal);
    expect(await settled(run)).toMatchObject({ edit: { toAccount: 'DE02', amount: 90 } });
  });

  test('a question is answered with an offered choice or in own words', async () => {
    const [one = '', two = ''] = await place.start(ASK, ASK);
    const terminal = place.terminal(['inbox']);
    const { says, pick, press } = terminal;
    await pick('askQuestion');
    await pick('Answer');
    await pick('Coal');
    await says(/answered: "Coal"/);
    await pick('askQuestion');
    await pick('Answer');
    await pick('Something else');
    await says(/Your answer/);
    press('Wood 🔥\r');
    await says(/answered: "Wood 🔥"/);
    await quit(terminal);
    expect([await settled(one), await settled(two)]).toMatchObject([{ output: 'Coal' }, { output: 'Wood 🔥' }]);
  });

  test('an answer with fields is a form, validated before it is sent', async () => {
    const [run = ''] = await place.start(BOOK);
    const terminal = place.terminal(['inbox']);
    const { says, pick, press } = terminal;
    await pick('Book a table ⟦U+202E⟧hidden · ');
    await says(/Book a table ⟦U\+202E⟧hidden\s+│ {2}bookTable\s+│ {2}Question/);
    await pick('Answer');
    await says(/guests/);
    press('0\r');
    await says(/Must be at least 1/);
    // The form does not know every rule of the schema.
    press('\u00153\r');
    await pick('garden');
    await pick('Yes');
    await says(/Invalid answer: guests/);
    await says(/guests\s+│ {2}3/);
    press('\u00154');
    await says(/4/);
    press(KEYS.enter);
    await says(/● garden/);
    press(KEYS.enter);
    await says(/● Yes/);
    press(KEYS.enter);
    await says(/You're all caught up/);
    press(KEYS.escape);
    expect(await terminal.ended).toBe(0);
    expect(await settled(run)).toMatchObject({ output: { guests: 4, where: 'garden', vegan: true } });
  });

  test('hostile text is shown as codes, and a long request says to scroll up', async () => {
    await place.start(HOSTILE);
    const terminal = place.terminal(['inbox'], { columns: 40, rows: 12 });
    await terminal.pick('transferMoney');
    await terminal.says(/evil<U\+001B>\[2J/);
    await terminal.says(/longer than your screen/);
    await terminal.says(/What do you want to do/);
    terminal.press(KEYS.escape);
    await quit(terminal);
    for (const hidden of ['\u0007', '\u001b[2J', '\u200b', '\u202e']) expect(terminal.output()).not.toContain(hidden);
  });
});

describe('with others', LONG, () => {
  test('new requests appear, and a person who decided first is named', async () => {
    const [run = ''] = await place.start(PAY);
    const terminal = place.terminal(['inbox']);
    const { says, pick, press } = terminal;
    await says(/1 pending/);
    await place.start(ASK);
    await says(/2 pending/);
    await pick('transferMoney');
    await pick('Approve');
    await says(/Approve\?/);
    const [id] = (await place.json('show', run)).pending;
    await place.json('decide', id, '--reject', '--by', 'cem');
    await says(/This request was decided meanwhile/);
    press('y');
    await says(/cem already rejected this at \d+:\d\d [AP]M\. Your decision was not saved\./);
    await quit(terminal);
    expect(await settled(run)).toMatchObject({ type: 'reject', by: 'cem' });
  });

  test('a hold begins with deciding, is seen by others, and ends with going back', async () => {
    const [run = ''] = await place.start(PAY);
    const [ann, ben] = [inboxOf('ann'), inboxOf('ben')];
    await ann.pick('transferMoney');
    await ann.says(/What do you want to do/);
    expect(await holders()).toEqual([null]);
    await ann.pick('Approve');
    await ben.says(/ann is reviewing/);
    expect(await holders()).toEqual(['ann']);
    const [id] = (await place.json('show', run)).pending;
    const other = await place.countersign(['decide', id, '--approve', '--digest', 'wrong']);
    expect(other.stderr).toMatch(/^ann is reviewing this\. You can still decide\.\n/);
    ben.press(KEYS.enter);
    await ben.says(/ann is reviewing this\. You can still decide\./);
    await ann.says(/Approve\?/);
    ann.press('n');
    await ann.says(/1 pending/);
    expect(await holders()).toEqual([null]);
    await ben.pick('Approve');
    await ben.says(/Approve\?/);
    ben.press('y');
    await ben.says(/ben \(cli\) at .*approved/);
    expect(await settled(run)).toMatchObject({ type: 'approve', by: 'ben' });
  });

  test.each([
    ['Ctrl-C', 130, (terminal: InTerminal) => terminal.press(KEYS.interrupt)],
    ['SIGTERM', 143, (terminal: InTerminal) => process.kill(terminal.programId(), 'SIGTERM')],
    ['SIGHUP', 129, (terminal: InTerminal) => process.kill(terminal.programId(), 'SIGHUP')],
  ])('%s ends the hold and restores the terminal', async (_name, code, leave) => {
    await place.start(PAY);
    const terminal = inboxOf('ann');
    await terminal.pick('transferMoney');
    await terminal.pick('Approve');
    await terminal.says(/Approve\?/);
    await expect.poll(holders).toEqual(['ann']);
    leave(terminal);
    expect(await terminal.ended).toBe(code);
    expect(await holders()).toEqual([null]);
    expect(terminal.output()).toMatch(/ icanon/);
    expect(terminal.output()).toMatch(/ echo /);
    const [shown, hidden] = ['\u001b[?25h', '\u001b[?25l'].map((code) => terminal.output().lastIndexOf(code));
    expect(shown).toBeGreaterThan(hidden ?? 0);
    expect(terminal.output().lastIndexOf('\u001b[?2004l')).toBeGreaterThan(
      terminal.output().lastIndexOf('\u001b[?2004h'),
    );
  });

  test('a closed window ends the hold', async () => {
    await place.start(PAY);
    const terminal = inboxOf('ann');
    await terminal.pick('transferMoney');
    await terminal.pick('Reject');
    await terminal.says(/Reason/);
    await expect.poll(holders).toEqual(['ann']);
    const program = terminal.programId();
    terminal.child.kill('SIGKILL');
    await expect.poll(() => existsSync(`/proc/${program}`), { timeout: 30_000 }).toBe(false);
    expect(await holders()).toEqual([null]);
  });
});

test('a store that fails is reported, and the list is kept', LONG, async () => {
  await place.start(PAY);
  const { says, press, ended } = place.terminal(['inbox']);
  await says(/transferMoney/);
  writeFileSync(place.path('.countersign/runs.sqlite'), 'not a database');
  await says(/Cannot load requests/);
  press(KEYS.escape);
  expect(await ended).toBe(0);
});

test('through a server: live updates, a lost connection, and a decision after it returns', LONG, async () => {
  const first = await place.serving();
  const COUNTERSIGN_TOKEN = await place.tokenFor('ann');
  const terminal = place.terminal(['inbox', '--url', first.url], { env: { COUNTERSIGN_TOKEN } });
  const { says, pick, press } = terminal;
  await says(/You're all caught up/);
  const [run = ''] = await place.start(PAY);
  await says(/1 pending[\s\S]*transferMoney/);
  await pick('transferMoney');
  await pick('Approve');
  first.child.kill('SIGKILL');
  await says(/Lost connection to http:\S+ at/);
  press('y');
  await says(/Cannot reach http:\S+:/);
  await place.serving('--port', new URL(first.url).port);
  await pick('transferMoney');
  await pick('Approve');
  await says(/Approve\?/);
  press('y');
  await says(/ann \(cli\) at .*approved/);
  await quit(terminal);
  expect(await settled(run)).toMatchObject({ type: 'approve', by: 'ann' });
});
