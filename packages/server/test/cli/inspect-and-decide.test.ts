// `runs`, `show`, `decide` and `inbox` on a store: their output and exit codes.
import { readFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testServer } from '../../../countersign/test/stores/postgres-server.ts';
import { ASK, BOOK, createWorkplace, HOSTILE, MAIN, PAY } from './workplace.ts';

const place = createWorkplace();
const { countersign, json, spawned } = place;
let [paying, asking, booking, hostile, talking] = ['', '', '', '', ''];
const pendingOf = async (runId: string): Promise<string> => (await json('show', runId)).pending[0];

beforeAll(async () => {
  place.withAgents();
  [paying = '', asking = '', booking = '', hostile = '', talking = ''] = await place.start(
    PAY,
    ASK,
    BOOK,
    HOSTILE,
    'hello',
  );
}, 120_000);
afterAll(() => place.close());

describe('runs', { timeout: 120_000 }, () => {
  test('lists runs newest first, with status, agent, tokens and who started them', async () => {
    const { code, stdout } = await countersign(['runs']);
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(new RegExp(`^done\t${talking}\thello\tassistant\t.*\t2\tann$`));
    expect(lines).toHaveLength(5);
    expect(stdout).not.toContain('\u001b');
  });

  test('shows the title of the request that a run waits for, and its prompt', async () => {
    const { stdout } = await countersign(['runs']);
    expect(stdout).toMatch(new RegExp(`^waiting\t${booking}\tBook a table ⟦U\\+202E⟧hidden · call bookTable `, 'm'));
    expect(stdout).toMatch(new RegExp(`^waiting\t${paying}\ttransferMoney · call transferMoney `, 'm'));
    const { items } = await json('runs');
    expect(items.find(({ id }: { id: string }) => id === booking)).toMatchObject({
      title: expect.stringMatching(/^call bookTable/),
      waitsFor: { tool: 'bookTable', title: 'Book a table ⟦U+202E⟧hidden' },
    });
  });

  test('a cursor continues after the previous page', async () => {
    const first = await json('runs', '--limit', '2');
    const second = await json('runs', '--limit', '200', '--cursor', first.cursor);
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual([talking, hostile, booking, asking, paying]);
    expect(second.cursor).toBeNull();
  });

  test('filters by status and agent', async () => {
    expect((await json('runs', '--status', 'done')).items.map(({ id }: { id: string }) => id)).toEqual([talking]);
    expect((await json('runs', '--agent', 'nobody')).items).toEqual([]);
    expect((await countersign(['runs', '--agent', 'nobody'])).stderr).toContain('No matching runs');
  });

  test('an unknown status is a usage error that lists the known ones', async () => {
    const { code, stderr } = await countersign(['runs', '--status', 'waitng']);
    expect(code).toBe(2);
    expect(stderr).toContain('running, waiting, done, failed, cancelled');
  });

  test('--json prints one document, and a failure is one on stderr', async () => {
    const { code, stdout, stderr } = await countersign(['runs', '--limit', '0', '--json']);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'usage', exitCode: 2 });
  });

  test('a pipe has no colours, unless FORCE_COLOR asks for them', async () => {
    expect((await spawned(['runs'], { FORCE_COLOR: '1' })).stdout).toContain('\u001b[');
    for (const args of [['runs'], ['inbox'], ['doctor'], ['--help'], ['show', talking]])
      expect((await spawned(args)).stdout).not.toContain('\u001b');
  });

  test.each([
    ['has colours', {}, true],
    ['has none with NO_COLOR', { NO_COLOR: '1' }, false],
  ])('help in a terminal %s', async (_name, env, isColoured) => {
    const { output, ended } = place.terminal(['runs', '--help'], { env });
    expect(await ended).toBe(0);
    expect(output().includes('\u001b[')).toBe(isColoured);
  });

  test.each([
    ['has colours', {}, true],
    ['has none with TERM=dumb', { TERM: 'dumb' }, false],
    ['has none with NO_COLOR', { NO_COLOR: '1' }, false],
  ])('a terminal %s', async (_name, env, isColoured) => {
    const { output, ended } = place.terminal(['runs', '--limit', '1'], { env });
    expect(await ended).toBe(0);
    expect(output()).toContain(talking);
    expect(output().includes('\u001b[')).toBe(isColoured);
  });

  test('rows fit the terminal, and a pipe gets whole rows', async () => {
    const { output, ended } = place.terminal(['runs'], { columns: 60, env: { NO_COLOR: '1' } });
    expect(await ended).toBe(0);
    const rows = output()
      .split(/\r?\n/)
      .filter((line) => /^(STATUS|done|waiting)/.test(line));
    expect(rows).toHaveLength(6);
    for (const row of rows) expect(row.length).toBeLessThanOrEqual(60);
    expect((await countersign(['inbox', '--tool', 'transferMoney'])).stdout).not.toContain('…');
  });

  test('a reader that stops early is not a failure', async () => {
    const line = `"$0" "$1" inbox --json | true; echo "ended with \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await place.run('bash', ['-c', line, process.execPath, MAIN]);
    expect({ stdout, stderr }).toEqual({ stdout: 'ended with 0\n', stderr: '' });
  });

  test('reading does not create a store', async () => {
    const { code, stderr } = await countersign(['runs', '--store', 'sqlite:./elsewhere.sqlite']);
    expect(code).toBe(3);
    expect(stderr).toContain('No store at sqlite:./elsewhere.sqlite');
  });

  test.each(['runs', 'inbox', 'doctor', 'migrate --dry-run', 'tokens list'])(
    '%s leaves the database of another program unchanged',
    async (command) => {
      const path = place.path('notes.sqlite');
      rmSync(path, { force: true });
      const notes = new DatabaseSync(path);
      notes.exec('CREATE TABLE note (text TEXT)');
      notes.close();
      const before = readFileSync(path);
      const said = await countersign([...command.split(' '), '--store', 'sqlite:./notes.sqlite']);
      expect(said.code).toBe(command === 'doctor' ? 1 : 3);
      expect(said.stdout + said.stderr).toContain('No store at sqlite:./notes.sqlite');
      expect(readFileSync(path)).toEqual(before);
    },
  );

  test('an invalid address is a usage error, and passwords are hidden', async () => {
    expect(await countersign(['runs', '--store', 'mysql://x'])).toMatchObject({ code: 2 });
    const away = await countersign(['runs', '--store', 'postgres://ann:secret@127.0.0.1:1/none']);
    expect(away.code).toBe(1);
    expect(away.stderr).not.toContain('secret');
  });
});

const postgres = await testServer();
test.runIf(postgres)('commands work on PostgreSQL', { timeout: 120_000 }, async () => {
  const store = ['--store', (await postgres?.freshDatabase()) ?? ''];
  expect(await countersign(['migrate', ...store])).toMatchObject({ code: 0 });
  const worker = place.begin(['worker', ...store]);
  await worker.says(/Working on postgres:/);
  const { code, stdout } = await countersign(['runs', ...store, '--json']);
  expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, items: [], cursor: null });
  expect((await countersign(['doctor', ...store])).stdout).toMatch(/ok +store +postgres:.*\nok +tables/);
  expect(await countersign(['show', 'run_none', ...store])).toMatchObject({ code: 3 });
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});

describe('show', { timeout: 120_000 }, () => {
  test('shows the events, the request, and how to decide it', async () => {
    const { code, stdout } = await countersign(['show', paying]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/updated .*, 2 tokens\n/);
    expect(stdout).toMatch(/user +call transferMoney/);
    expect(stdout).toMatch(/model +Let me see\. \(2 tokens\)/);
    expect(stdout).toMatch(/transferMoney +waits for an approval, high risk/);
    expect(stdout).toContain('countersign decide');
    expect(stdout).toContain('--approve | --edit | --revise | --reject');
  });

  test('leads with the title of a request, with the tool beside it', async () => {
    const { stdout } = await countersign(['show', booking]);
    expect(stdout).toMatch(/bookTable +Book a table ⟦U\+202E⟧hidden, asks a question/);
    expect(stdout).toContain('  Book a table ⟦U+202E⟧hidden (bookTable)\n  countersign decide');
  });

  test('--json has the timeline with times', async () => {
    const shown = await json('show', talking);
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    expect(shown).toMatchObject({ id: talking, status: 'done', text: 'You said: hello', usage });
    expect(shown.timeline.map((entry: { usage: unknown }) => entry.usage)).toEqual([null, usage]);
    expect(shown.timeline.map(({ who }: { who: string }) => who)).toEqual(['user', 'model']);
    expect(shown.timeline[0]).toMatchObject({ afterMs: 0, seq: 1 });
  });

  test('--follow --json prints each event of an ended run and exits', async () => {
    const { code, stdout } = await countersign(['show', talking, '--follow', '--json']);
    expect(code).toBe(0);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ type }) => type)).toEqual(['user-spoke', 'model-replied']);
  });

  test('hidden characters are shown as codes', async () => {
    const { stdout } = await countersign(['show', hostile]);
    expect(stdout).toContain('"evil\\u001b[2J\\u202ex\\u200b\\u0007"');
    const { stdout: document } = await countersign(['show', hostile, '--json']);
    for (const hidden of ['\u0007', '\u001b', '\u200b', '\u202e']) expect(stdout + document).not.toContain(hidden);
  });

  test('an unknown run is not found', async () => {
    const { code, stderr } = await countersign(['show', 'run_none']);
    expect(code).toBe(3);
    expect(stderr).toContain('Run run_none not found');
    expect(await countersign(['show'])).toMatchObject({ code: 2 });
  });
});

test('hidden characters in a URL are not printed', { timeout: 120_000 }, async () => {
  const { stderr } = await countersign(['runs', '--url', 'http://127.0.0.1:1/a\u009b2J\u202e']);
  expect(stderr).toContain('countersign doctor --url');
  expect(stderr).not.toMatch(/[\u009b\u202e]/);
});

describe('inbox without a terminal', { timeout: 120_000 }, () => {
  test('a dumb terminal gets the list', async () => {
    const { output, ended } = place.terminal(['inbox'], { env: { TERM: 'dumb' } });
    expect(await ended).toBe(0);
    expect(output()).toContain('Which grill?');
    expect(output()).not.toContain('\u001b');
  });

  test('prints pending requests with their ids and how to decide', async () => {
    const { code, stdout, stderr } = await countersign(['inbox']);
    expect(code).toBe(0);
    expect(stdout).toContain('Which grill?');
    expect(stdout).toContain(await pendingOf(asking));
    expect(stdout).toContain(`A table?\n  ${await pendingOf(booking)}  bookTable\n`);
    expect(stdout).toMatch(/^Book a table ⟦U\+202E⟧hidden {2}/m);
    expect(stderr).toContain('countersign decide <id> --approve');
    expect(stderr).toContain('in a terminal');
  });

  test('--json has whole requests, with schemas', async () => {
    const { items } = await json('inbox', '--tool', 'bookTable');
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      runId: booking,
      agent: 'assistant',
      startedBy: 'ann',
      kind: 'question',
      status: 'pending',
    });
    expect(items[0].answerSchema.properties.where.enum).toEqual(['inside', 'garden']);
  });
});

describe('decide', { timeout: 120_000 }, () => {
  test('an invalid edit is refused with the reason, and nothing is recorded', async () => {
    const id = await pendingOf(paying);
    const { code, stderr } = await countersign(['decide', id, '--edit', '{"toAccount":"DE02","amount":"lots"}']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: Not saved: .*transferMoney.*amount: /);
    expect(await countersign(['decide', id, '--edit', '{"amount": 1'])).toMatchObject({ code: 2 });
    expect(await pendingOf(paying)).toBe(id);
  });

  test.each(['other', '-v3rGdX0yTnQ', '-hS7aD'])('a digest of another request is a conflict: %s', async (digest) => {
    const { code, stderr } = await countersign(['decide', await pendingOf(paying), '--approve', '--digest', digest]);
    expect(code).toBe(4);
    expect(stderr).toContain('another card');
  });

  test('repeating a decision prints the recorded one, a different one is a conflict that names who decided', async () => {
    const { items } = await json('inbox', '--run', paying);
    const [{ id, digest }] = items;
    const edit = '{"toAccount":"DE02","amount":90}';
    const first = await spawned(['decide', id, '--edit', '-', '--digest', digest, '--note', 'half'], {}, edit);
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(
      /^Recorded: transferMoney, ben \(cli\) at .*approved with edited input: toAccount "DE02", amount 90, note: half/,
    );
    const again = await json('decide', id, '--edit', edit, '--by', 'cem');
    expect(again).toMatchObject({
      by: 'ben',
      channel: 'cli',
      note: 'half',
      decision: { type: 'approve', edit: { amount: 90 } },
    });
    const other = await countersign(['decide', id, '--reject', '--by', 'cem']);
    expect(other.code).toBe(4);
    expect(other.stderr).toMatch(
      /^conflict: ben already approved an edited version of this at \d+:\d\d [AP]M\. Your decision was not saved\./,
    );
    const document = await countersign(['decide', id, '--approve', '--json']);
    expect(JSON.parse(document.stderr).error).toMatchObject({
      code: 'already-decided',
      exitCode: 4,
      details: { settlement: { by: 'ben' } },
    });
  });

  test('a string answer takes plain text', async () => {
    const id = await pendingOf(asking);
    const decided = await json('decide', id, '--respond', '42');
    expect(decided.decision).toEqual({ type: 'respond', output: '42' });
  });

  test('an object answer takes JSON and is validated', async () => {
    const id = await pendingOf(booking);
    const wrong = await countersign(['decide', id, '--respond', '{"guests":0,"where":"roof","vegan":true}']);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/guests.*where/);
    expect(await countersign(['decide', id, '--respond', 'two people'])).toMatchObject({ code: 2 });
    const { code } = await countersign(['decide', id, '--respond', '{"guests":2,"where":"garden","vegan":true}']);
    expect(code).toBe(0);
  });

  test('--wait with a timeout says that the decision is recorded, and what the run waits for', async () => {
    const [runId = ''] = await place.start(PAY);
    const args = ['decide', await pendingOf(runId), '--approve', '--wait', '--timeout', '1'];
    const { code, stderr } = await countersign(args);
    expect(code).toBe(1);
    expect(stderr).toContain(`The decision is recorded, but run ${runId} did not pause or end within 1 seconds.`);
    expect(stderr).toContain('Start one with: countersign worker');
  });

  test('a question cannot be approved', async () => {
    const [runId = ''] = await place.start(ASK);
    const { code, stderr } = await countersign(['decide', await pendingOf(runId), '--approve']);
    expect(code).toBe(2);
    expect(stderr).toContain('is a question');
  });

  test.each([
    ['nothing', [], /Missing decision/],
    ['two things', ['--approve', '--reject'], /--approve and --reject/],
    ['a reason for an approval', ['--approve', '--reason', 'x'], /--reason works with --reject/],
    ['a timeout without a wait', ['--approve', '--timeout', '5'], /--timeout works with --wait/],
    ['a missing value', ['--edit'], /'--edit <json>' argument missing/],
    ['an option in place of a value', ['--respond', '--wait'], /A value is missing/],
    ['a missing file', ['--edit', '@none.json'], /File “none\.json” not found/, 3],
    ['a folder', ['--edit', '@.'], /Cannot read “\.” \(EISDIR\)/, 1],
  ])('%s is refused', async (_name, args, message, expected = 2) => {
    const { code, stderr } = await countersign(['decide', 'run_x:call_y', ...args]);
    expect(stderr).toMatch(message);
    expect(code).toBe(expected);
  });

  test('without the agents file, only decisions that need no validation are accepted', async () => {
    const [one = '', two = '', three = ''] = await place.start(PAY, ASK, PAY);
    const [call, question, unwanted] = [await pendingOf(one), await pendingOf(two), await pendingOf(three)];
    const bare = createWorkplace();
    try {
      const store = ['--store', `sqlite:${place.path('.countersign/runs.sqlite')}`];
      const edit = await bare.countersign(['decide', call, '--edit', '{}', ...store]);
      expect(edit.code).toBe(1);
      expect(edit.stderr).toContain('Agent assistant is not defined here');
      expect(await bare.countersign(['decide', question, '--approve', ...store])).toMatchObject({ code: 2 });
      expect(await bare.countersign(['decide', call, '--approve', ...store])).toMatchObject({ code: 0 });
      expect(await bare.countersign(['decide', question, '--reject', ...store])).toMatchObject({ code: 0 });
      expect(await bare.countersign(['decide', unwanted, '--cancel', ...store])).toMatchObject({ code: 0 });
    } finally {
      bare.close();
    }
  });
});

describe('stats', { timeout: 120_000 }, () => {
  test('shows how people decided, as a table, CSV or JSON, of a selection', async () => {
    const { code, stdout } = await countersign(['stats']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^all\t\t\d+\t/);
    expect(stdout).toMatch(/^tool\ttransferMoney\t/m);
    const csv = await countersign(['stats', '--csv', '--days', '1']);
    expect(csv.stdout).toMatch(/^group,name,hour,/);
    expect(await json('stats', '--tool', 'none')).toMatchObject({ total: { requests: 0 }, isComplete: true });
    expect((await countersign(['stats', '--tool', 'none'])).stderr).toContain('No request was decided');
  });
});
