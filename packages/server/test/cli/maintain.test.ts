// Help, `doctor` and `migrate`.

import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { ASK, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach({ agents: false });

const TIMEOUT = 120_000;
const rewrite = (change: (source: string) => string): void => {
  writeFileSync(place.path('agents.ts'), change(readFileSync(place.path('agents.ts'), 'utf8')));
};
/** Marks the store as migrated by a newer version. */
const migrateFurther = (path: string): void => {
  const database = new DatabaseSync(path);
  database.exec('INSERT INTO countersign_migration (version, applied_at) VALUES (999, 0)');
  database.close();
};

const COMMANDS = [
  'init',
  'dev',
  'serve',
  'worker',
  'gate',
  'mcp',
  'mcp gate',
  'mcp permission',
  'mcp inbox',
  'hook',
  'agents',
  'agents install',
  'agents status',
  'agents remove',
  'inbox',
  'watch',
  'decide',
  'approve',
  'reject',
  'recall',
  'undo',
  'assign',
  'comment',
  'away',
  'grants',
  'grants list',
  'grants show',
  'grants revoke',
  'freeze',
  'unfreeze',
  'freezes',
  'runs',
  'show',
  'stats',
  'replay',
  'policies',
  'policies history',
  'policies suggest',
  'evidence',
  'verify',
  'login',
  'logout',
  'link',
  'people',
  'people remove',
  'people restore',
  'people sign-out',
  'people sync',
  'people list',
  'tokens',
  'tokens create',
  'tokens list',
  'tokens revoke',
  'passkeys',
  'vapid-keys',
  'channels',
  'doctor',
  'migrate',
  'rebuild',
];

describe('help', { timeout: TIMEOUT }, () => {
  test('without arguments it lists every command', async () => {
    const { code, stdout } = await place.countersign([]);
    expect(code).toBe(0);
    for (const name of COMMANDS.filter((command) => !command.includes(' ')))
      expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await place.countersign(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('with --json, help and version are JSON', async () => {
    expect(await place.json('--version')).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    const { commands } = await place.json('help');
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(
      COMMANDS.filter((command) => !command.includes(' ')),
    );
    const migrate = await place.json('migrate', '--help');
    expect(migrate).toMatchObject({ name: 'migrate', usage: 'countersign migrate [options]' });
    expect(migrate.options.map(({ flags }: { flags: string }) => flags)).toEqual([
      '--dry-run',
      '--store <address>',
      '--agents <file>',
      '--json',
      '-h, --help',
    ]);
  });

  test.each(['', ...COMMANDS])('countersign %s --help has usage, options and examples', async (name) => {
    const words = name.split(' ').filter((word) => word !== '');
    const { code, stdout, stderr } = await place.countersign([...words, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: ${['countersign', ...words].join(' ')}`));
    for (const part of ['Options:', '--help', `Examples:\n  ${['countersign', ...words].join(' ')}`])
      expect(stdout).toContain(part);
    if (!['', 'tokens', 'people', 'grants', 'policies', 'passkeys', 'channels', 'mcp', 'agents'].includes(name))
      expect(stdout).toContain('--json');
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    const document = await place.json(...words, '--help');
    expect(document.name).toBe(words.at(-1) ?? 'countersign');
    expect(document.examples[0].command).toMatch(new RegExp(`^${['countersign', ...words].join(' ')}`));
  });

  test('`help` takes the name of a nested command, too', async () => {
    expect((await place.countersign(['help', 'tokens', 'create'])).stdout).toMatch(
      /^Usage: countersign tokens create /,
    );
    expect((await place.countersign(['tokens', 'help', 'list'])).stdout).toMatch(/^Usage: countersign tokens list /);
    expect((await place.countersign(['help', 'runs'])).stdout).toMatch(/^Usage: countersign runs /);
    expect((await place.countersign(['help', 'help'])).stdout).toMatch(/^Usage: countersign \[options\]/);
    expect((await place.countersign(['help', 'inbx'])).code).toBe(2);
  });

  test.each(COMMANDS)('%s --json reports a mistake as JSON', async (name) => {
    const { code, stdout, stderr } = await place.countersign([...name.split(' '), '--unheard-of', '--json']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'usage', exitCode: 2, message: expect.any(String) });
  });

  test('an unknown command or option is a usage error with a suggestion', async () => {
    const command = await place.countersign(['inbx']);
    expect(command).toMatchObject({ code: 2, stdout: '' });
    expect(command.stderr).toContain('Did you mean inbox?');
    const option = await place.countersign(['runs', '--limt', '3']);
    expect(option).toMatchObject({ code: 2 });
    expect(option.stderr).toContain('Did you mean --limit?');
    expect(await place.countersign(['runs', 'extra'])).toMatchObject({ code: 2 });
    expect(await place.countersign(['--json'])).toMatchObject({ code: 2 });
  });
});

test('rebuild says that a store of its own lists has nothing to rebuild', { timeout: TIMEOUT }, async () => {
  place.withAgents();
  await place.json('migrate');
  expect(await place.countersign(['rebuild'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nothing to rebuild'),
  });
});

describe('doctor', { timeout: TIMEOUT }, () => {
  test('every check passes with agents and a store', async () => {
    place.withAgents();
    await place.start(ASK);
    const { code, stdout } = await place.countersign(['doctor'], {
      COUNTERSIGN_MODEL: 'openai/gpt-5',
      OPENAI_API_KEY: 'sk-secret',
    });
    expect(code).toBe(0);
    for (const name of ['node', 'agents', 'store', 'tables', 'clock', 'keys'])
      expect(stdout).toMatch(new RegExp(`^ok +${name}`, 'm'));
    expect(stdout).toContain('1 pending');
    expect(stdout).not.toContain('sk-secret');
  });

  test('a failed check says how to fix it, and the exit code is 1', async () => {
    writeFileSync(place.path('agents.ts'), 'export const nothing = 1;');
    writeFileSync(place.path('broken.sqlite'), 'not a database, and long enough to be recognized as something else');
    const { code, stdout } = await place.countersign(['doctor', '--store', 'sqlite:./broken.sqlite'], {
      COUNTERSIGN_MODEL: 'openai/gpt-5',
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +agents .*\n +→ Use: export default/m);
    expect(stdout).toMatch(/^fail +store .*\n +→ Check the address/m);
    expect(stdout).toMatch(/^fail +keys .*OPENAI_API_KEY is not set/m);
    const document = await place.countersign(['doctor', '--store', 'sqlite:./none.sqlite', '--json']);
    expect(document.code).toBe(1);
    expect(JSON.parse(document.stdout)).toMatchObject({ ok: false });
  });
});

describe('doctor and other stores', { timeout: TIMEOUT }, () => {
  test('--store wins over COUNTERSIGN_URL', async () => {
    await place.json('migrate');
    const { code, stdout } = await place.countersign(['doctor', '--store', 'sqlite:./.countersign/runs.sqlite'], {
      COUNTERSIGN_URL: 'http://127.0.0.1:1',
    });
    expect(stdout).toMatch(/^ok +store/m);
    expect(code).toBe(0);
    expect(await place.countersign(['doctor', '--url', 'nowhere'])).toMatchObject({ code: 2, stdout: '' });
  });

  test('tables of a newer version are reported as such', async () => {
    await place.json('migrate');
    migrateFurther(place.path('.countersign/runs.sqlite'));
    const { code, stdout } = await place.countersign(['doctor']);
    expect(stdout).toMatch(/^fail +tables .*Update Countersign/m);
    expect(stdout).not.toContain('Check the address');
    expect(code).toBe(1);
  });

  test('an agents file with its own store is checked with that store', async () => {
    writeFileSync(
      place.path('agents.ts'),
      `import { countersign } from 'countersign';
      import { sqliteStore } from 'countersign/sqlite';
      export const ai = countersign({ store: sqliteStore('./own.sqlite') });
      ai.defineAgent({ name: 'own' });`,
    );
    const { checks } = await place.json('doctor');
    expect(checks.map(({ name, status }: { name: string; status: string }) => `${name} ${status}`)).toEqual([
      'node ok',
      'agents ok',
      'store ok',
      'tables ok',
      'freezes ok',
      'clock ok',
      'keys unknown',
    ]);
    expect(checks[2].text).toMatch(/^the store in agents\.ts responds in .*, 0 pending$/);
  });

  test('an unreadable file is not reported as missing', async () => {
    symlinkSync('loop', place.path('loop'));
    const store = ['--store', 'sqlite:./loop'];
    for (const command of ['runs', 'doctor', 'migrate']) {
      const { code, stdout, stderr } = await place.countersign([command, ...store]);
      expect(code).toBe(1);
      expect(stdout + stderr).toMatch(/loop cannot be opened; make sure that its folder/);
    }
  });

  test('a read-only store fails the check', async () => {
    writeFileSync(
      place.path('agents.ts'),
      `import { countersign, memoryStore } from 'countersign';
      const store = memoryStore();
      store.release = () => Promise.reject(new Error('It can only be read.'));
      export const ai = countersign({ store });
      ai.defineAgent({ name: 'own' });`,
    );
    const { code, stdout } = await place.countersign(['doctor']);
    expect(stdout).toMatch(/^fail +store .*can only be read/m);
    expect(code).toBe(1);
  });
});

describe('migrate', { timeout: TIMEOUT }, () => {
  test('creates the tables, and refuses those of a newer version', async () => {
    expect(await place.json('migrate', '--store', 'sqlite:./new/runs.sqlite')).toMatchObject({ migrated: true });
    migrateFurther(place.path('new/runs.sqlite'));
    const { code, stderr } = await place.countersign(['migrate', '--store', 'sqlite:./new/runs.sqlite']);
    expect(code).toBe(1);
    expect(stderr).toContain('Update Countersign');
  });

  test('a dry run passes if every paused run fits its tool', async () => {
    place.withAgents();
    const [one = '', two = ''] = await place.start(PAY, ASK, 'hello');
    const checked = await place.json('migrate', '--dry-run');
    expect(checked).toMatchObject({ checked: 2, unfit: 0 });
    expect(checked.runs).toMatchObject([
      { runId: one, questions: 1, problems: [] },
      { runId: two, problems: [] },
    ]);
  });

  test.each([
    [
      'the agent is gone',
      (source: string) => source.replace("name: 'assistant',", "name: 'other',"),
      /agent assistant is no longer defined/,
    ],
    [
      'the tool is gone',
      (source: string) => source.replace("tools: ['transferMoney', ", 'tools: ['),
      /transferMoney .* is no longer a tool of/,
    ],
    [
      'the tool takes a different input',
      (source: string) => source.replace('amount: z.number()', 'iban: z.string(), amount: z.number()'),
      /no longer accepts its recorded input: iban/,
    ],
    [
      'a tool became a question',
      (source: string) =>
        source
          .replaceAll("name: 'transferMoney'", "name: 'pay'")
          .replace("name: 'askQuestion'", "name: 'transferMoney'")
          .replace(", 'askQuestion'", ''),
      /was a tool with a body and is now a question/,
    ],
  ])('a dry run fails if %s', async (_name, change, message) => {
    place.withAgents();
    const [run = ''] = await place.start(PAY);
    rewrite(change);
    const { code, stdout } = await place.countersign(['migrate', '--dry-run']);
    expect(stdout).toMatch(message);
    expect(stdout).toContain(`fail  ${run}`);
    expect(stdout).toContain('1 cannot resume');
    expect(code).toBe(1);
    expect((await place.json('show', run, '--store', 'sqlite:./.countersign/runs.sqlite')).status).toBe('waiting');
  });

  test('a dry run finds a record that was tampered with', async () => {
    place.withAgents();
    const [run = ''] = await place.start(PAY);
    const database = new DatabaseSync(place.path('.countersign/runs.sqlite'));
    database.exec(`UPDATE countersign_event SET events = replace(events, '950', '951')`);
    database.close();
    const { code, stdout } = await place.countersign(['migrate', '--dry-run']);
    expect(code).toBe(1);
    expect(stdout).toContain(`fail  ${run}`);
    expect(stdout).toMatch(/its record was tampered with/);
  });
});
