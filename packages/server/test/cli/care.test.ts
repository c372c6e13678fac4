// `doctor`, `migrate` and the help, as processes.

import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { ASK, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach({ agents: false });

const TIMEOUT = 120_000;
const rewrite = (change: (source: string) => string): void => {
  writeFileSync(place.path('agents.ts'), change(readFileSync(place.path('agents.ts'), 'utf8')));
};
/** As a later version leaves it. */
const later = (path: string): void => {
  const database = new DatabaseSync(path);
  database.exec('INSERT INTO countersign_migration (version, applied_at) VALUES (999, 0)');
  database.close();
};

const COMMANDS = [
  'dev',
  'serve',
  'worker',
  'inbox',
  'decide',
  'runs',
  'show',
  'doctor',
  'migrate',
  'tokens create',
  'tokens list',
  'tokens revoke',
];

describe('help', { timeout: TIMEOUT }, () => {
  test('without a word, it tells every command', async () => {
    const { code, stdout } = await place.countersign([]);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await place.countersign(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('with --json, help and version are documents', async () => {
    expect(await place.json('--version')).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    const { commands } = await place.json('help');
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(COMMANDS);
    const migrate = await place.json('migrate', '--help');
    expect(migrate).toMatchObject({ name: 'migrate', usage: 'countersign migrate [options]' });
    expect(migrate.options.map(({ name }: { name: string }) => name)).toEqual([
      'dry-run',
      'store',
      'agents',
      'json',
      'help',
    ]);
  });

  test.each(COMMANDS)('%s --help has usage, options and examples', async (name) => {
    const { code, stdout, stderr } = await place.countersign([...name.split(' '), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: countersign ${name}`));
    for (const part of ['Options', '--json', '--help', 'Examples\n  ']) expect(stdout).toContain(part);
  });

  test('what is not known is a usage error that says what may have been meant', async () => {
    const command = await place.countersign(['inbx']);
    expect(command).toMatchObject({ code: 2, stdout: '' });
    expect(command.stderr).toContain('Did you mean “inbox”?');
    const option = await place.countersign(['runs', '--limt', '3']);
    expect(option).toMatchObject({ code: 2 });
    expect(option.stderr).toContain('Did you mean --limit?');
    expect(await place.countersign(['runs', 'extra'])).toMatchObject({ code: 2 });
    expect(await place.countersign(['--json'])).toMatchObject({ code: 2 });
  });
});

describe('doctor', { timeout: TIMEOUT }, () => {
  test('all is well where there are agents and a store', async () => {
    place.withAgents();
    await place.start(ASK);
    const { code, stdout } = await place.countersign(['doctor'], {
      COUNTERSIGN_MODEL: 'openai/gpt-5',
      OPENAI_API_KEY: 'sk-secret',
    });
    expect(code).toBe(0);
    for (const name of ['node', 'agents', 'store', 'tables', 'clock', 'keys'])
      expect(stdout).toMatch(new RegExp(`^ok +${name}`, 'm'));
    expect(stdout).toContain('1 waiting');
    expect(stdout).not.toContain('sk-secret');
  });

  test('what fails is said with what to do, and ends with 1', async () => {
    writeFileSync(place.path('agents.ts'), 'export const nothing = 1;');
    writeFileSync(
      place.path('broken.sqlite'),
      'this is no database, and long enough to be sure that it is none at all',
    );
    const { code, stdout } = await place.countersign(['doctor', '--store', 'sqlite:./broken.sqlite'], {
      COUNTERSIGN_MODEL: 'openai/gpt-5',
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail +agents .*\n +→ Write: export default/m);
    expect(stdout).toMatch(/^fail +store .*\n +→ Check the address/m);
    expect(stdout).toMatch(/^fail +keys .*OPENAI_API_KEY is not set/m);
    const document = await place.countersign(['doctor', '--store', 'sqlite:./none.sqlite', '--json']);
    expect(document.code).toBe(1);
    expect(JSON.parse(document.stdout)).toMatchObject({ ok: false });
  });
});

describe('doctor and other places', { timeout: TIMEOUT }, () => {
  test('a store that is named goes before a server of the environment', async () => {
    await place.json('migrate');
    const { code, stdout } = await place.countersign(['doctor', '--store', 'sqlite:./.countersign/runs.sqlite'], {
      COUNTERSIGN_URL: 'http://127.0.0.1:1',
    });
    expect(stdout).toMatch(/^ok +store/m);
    expect(code).toBe(0);
    expect(await place.countersign(['doctor', '--url', 'nowhere'])).toMatchObject({ code: 2, stdout: '' });
  });

  test('tables of a later version are no store that is away', async () => {
    await place.json('migrate');
    later(place.path('.countersign/runs.sqlite'));
    const { code, stdout } = await place.countersign(['doctor']);
    expect(stdout).toMatch(/^fail +tables .*Update Countersign/m);
    expect(stdout).not.toContain('Check the address');
    expect(code).toBe(1);
  });

  test('a file that brings its own store is asked for that one', async () => {
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
      'keys unknown',
    ]);
    expect(checks[2].text).toBe('the one of agents.ts answers, 0 waiting');
  });

  test('a file that may not be looked at is not told as missing', async () => {
    symlinkSync('loop', place.path('loop'));
    const store = ['--store', 'sqlite:./loop'];
    for (const command of ['runs', 'doctor', 'migrate']) {
      const { code, stdout, stderr } = await place.countersign([command, ...store]);
      expect(code).toBe(1);
      expect(stdout + stderr).toMatch(/loop cannot be opened; make sure that its folder/);
    }
  });

  test('a store that can only be read is not well', async () => {
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
  test('makes the tables, and refuses those of a later version', async () => {
    expect(await place.json('migrate', '--store', 'sqlite:./new/runs.sqlite')).toMatchObject({ migrated: true });
    later(place.path('new/runs.sqlite'));
    const { code, stderr } = await place.countersign(['migrate', '--store', 'sqlite:./new/runs.sqlite']);
    expect(code).toBe(1);
    expect(stderr).toContain('Update Countersign');
  });

  test('a dry run passes while every paused run fits its tool', async () => {
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
      /agent assistant is not defined any more/,
    ],
    [
      'the tool is gone',
      (source: string) => source.replace("tools: ['transferMoney', ", 'tools: ['),
      /transferMoney .* is not among the tools/,
    ],
    [
      'the tool takes other input',
      (source: string) => source.replace('amount: z.number()', 'iban: z.string(), amount: z.number()'),
      /does not take its recorded input any more: iban/,
    ],
    [
      'a question became a tool',
      (source: string) =>
        source
          .replaceAll("name: 'transferMoney'", "name: 'pay'")
          .replace("name: 'askQuestion'", "name: 'transferMoney'")
          .replace(", 'askQuestion'", ''),
      /was a tool that runs, and is a question now/,
    ],
  ])('a dry run tells when %s', async (_name, change, message) => {
    place.withAgents();
    const [run = ''] = await place.start(PAY);
    rewrite(change);
    const { code, stdout } = await place.countersign(['migrate', '--dry-run']);
    expect(stdout).toMatch(message);
    expect(stdout).toContain(`fail  ${run}`);
    expect(stdout).toContain('1 would not go on');
    expect(code).toBe(1);
    expect((await place.json('show', run, '--store', 'sqlite:./.countersign/runs.sqlite')).status).toBe('waiting');
  });

  test('a record that was changed in the store is found', async () => {
    place.withAgents();
    const [run = ''] = await place.start(PAY);
    const database = new DatabaseSync(place.path('.countersign/runs.sqlite'));
    database.exec(`UPDATE countersign_event SET events = replace(events, '950', '951')`);
    database.close();
    const { code, stdout } = await place.countersign(['migrate', '--dry-run']);
    expect(code).toBe(1);
    expect(stdout).toContain(`fail  ${run}`);
    expect(stdout).toMatch(/its record was changed/);
  });
});
