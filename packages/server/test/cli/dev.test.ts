// `dev` as a process: the link, the reload, the agents file with its mistakes.
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KEYS } from './pty.ts';
import { createWorkplace, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const TIMEOUT = 120_000;

describe('dev', { timeout: TIMEOUT }, () => {
  test.each([
    ['`npm init` said that it has none', '{ "type": "commonjs" }'],
    ['nobody said whether it has any', '{}'],
  ])('modules load without a warning in a folder of which %s', async (_, manifest) => {
    writeFileSync(place.path('package.json'), manifest);
    const source = readFileSync(place.path('agents.ts'), 'utf8');
    writeFileSync(place.path('names.ts'), "export const NAME: string = 'clerk';\n");
    writeFileSync(place.path('old.js'), "// export default\nmodule.exports = { old: 'as ever' };\n");
    const imports =
      "import { NAME } from './names.ts';\nimport old from './old.js';\nif (old.old !== 'as ever') throw old;\n";
    writeFileSync(place.path('agents.ts'), imports + source.replace("name: 'assistant',", 'name: NAME,'));
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/serves clerk \(agents\.ts\)/);
    expect(dev.output()).not.toMatch(/warning/i);
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  });

  test('prints a link that signs in once, reloads on change, keeps the runs and the port, and survives a mistake', async () => {
    const [run = ''] = await place.start(PAY);
    const dev = place.begin(['dev', '--port', '0']);
    const [link, url = ''] = await dev.says(/(http:\/\/localhost:\d+)\/login\?token=\S+/);
    await dev.says(/Reloads when a file changes/);
    const signedIn = await fetch(link, { redirect: 'manual' });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    expect(signedIn.status).toBeGreaterThanOrEqual(300);
    const agents = async () =>
      (await (await fetch(`${url}/api/v1/agents`, { headers: { cookie } })).json()) as { items: { name: string }[] };
    expect((await agents()).items.map(({ name }) => name)).toEqual(['assistant']);

    const source = readFileSync(place.path('agents.ts'), 'utf8');
    writeFileSync(place.path('agents.ts'), source.replace("name: 'assistant',", "name: 'helper',"));
    await dev.says(/agents\.ts changed/);
    await dev.says(/Reloaded: helper \(agents\.ts\)/);
    expect((await agents()).items.map(({ name }) => name)).toEqual(['helper']);

    writeFileSync(place.path('agents.ts'), `${source}\nconst = ;`);
    await dev.says(/agents\.ts has a syntax error/);
    await dev.says(/Waiting for a change/);
    writeFileSync(place.path('agents.ts'), source);
    await dev.says(/Reloaded: assistant/);
    const runs = (await (await fetch(`${url}/api/v1/runs`, { headers: { cookie } })).json()) as {
      items: { id: string; status: string }[];
    };
    expect(runs.items).toMatchObject([{ id: run, status: 'waiting' }]);

    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('Ctrl-C in a terminal stops both processes cleanly', async () => {
    const dev = place.terminal(['dev', '--port', '0'], { env: { NO_COLOR: '1' } });
    await expect.poll(() => dev.output(), { timeout: 30_000 }).toContain('Ctrl-C stops it.');
    const [url = ''] = /http:\/\/localhost:\d+/.exec(dev.output()) ?? [];
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    dev.press(KEYS.interrupt);
    expect(await dev.ended).toBe(0);
    expect(dev.output()).not.toContain('error');
    await expect(fetch(url)).rejects.toThrow();
  });

  test('a file that the agents import is watched, too', async () => {
    writeFileSync(place.path('name.ts'), "export const NAME = 'first';");
    writeFileSync(
      place.path('countersign.config.ts'),
      `import { countersign } from 'countersign';
      import { NAME } from './name.ts';
      export default ({ store }: any) => { const ai = countersign({ store }); ai.defineAgent({ name: NAME }); return ai; };`,
    );
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/serves first \(countersign\.config\.ts\)/);
    await dev.says(/Reloads when/);
    writeFileSync(place.path('name.ts'), "export const NAME = 'second';");
    await dev.says(/name\.ts changed/);
    await dev.says(/Reloaded: second/);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('what the agents write beside themselves is no change of theirs; a file that appears under a usual name is', async () => {
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/serves assistant/);
    await dev.says(/Reloads when/);
    writeFileSync(place.path('ledger.json'), '{"paid":950}');
    writeFileSync(place.path('other.ts'), 'export {};');
    writeFileSync(
      place.path('countersign.config.ts'),
      `import { countersign } from 'countersign';
      export default ({ store }: any) => { const ai = countersign({ store }); ai.defineAgent({ name: 'second' }); return ai; };`,
    );
    await dev.says(/Reloaded: second \(countersign\.config\.ts\)/);
    writeFileSync(place.path('ledger.json'), '{"paid":1900}');
    // A reload would be told by then: it is begun a tenth of a second after a change.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(dev.output()).not.toMatch(/(ledger\.json|other\.ts) changed/);
    expect(dev.output().match(/Reloaded/g)).toHaveLength(1);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('a mistake at the start is said, and any change is a reason to try again', async () => {
    writeFileSync(place.path('agents.ts'), "export { default } from './missing.ts';");
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/agents\.ts imports what is not there/);
    await dev.says(/Waiting for a change/);
    writeFileSync(
      place.path('missing.ts'),
      `import { countersign } from 'countersign';
      export default ({ store }: any) => { const ai = countersign({ store }); ai.defineAgent({ name: 'found' }); return ai; };`,
    );
    await dev.says(/missing\.ts changed/);
    await dev.says(/serves found/);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test.each([
    ['waits for ever', 'await new Promise(() => {});'],
    ['does not come to its end', 'for (;;);'],
  ])(
    'a file that %s while it is loaded is given up when it changes, and no call is said to be in doubt',
    async (_, line) => {
      const dev = place.begin(['dev', '--port', '0']);
      await dev.says(/Reloads when/);
      const source = readFileSync(place.path('agents.ts'), 'utf8');
      const begun = "import { writeFileSync } from 'node:fs';\nwriteFileSync('loading', '');\n";
      writeFileSync(place.path('agents.ts'), `${begun}${source}\n${line}`);
      await expect.poll(() => existsSync(place.path('loading')), { timeout: 30_000 }).toBe(true);
      writeFileSync(place.path('agents.ts'), source);
      await dev.says(/Its file was still being loaded[\s\S]*Reloaded: assistant/);
      expect(dev.output()).not.toContain('in doubt');
      dev.child.kill('SIGTERM');
      expect(await dev.ended).toBe(0);
    },
  );

  test('goes on when Node cannot be started for a while, as during its update', async () => {
    const node = place.path('node');
    copyFileSync(process.execPath, node);
    const dev = place.begin(['dev', '--port', '0'], {}, node);
    await dev.says(/Reloads when/);
    renameSync(node, `${node}-old`);
    const source = readFileSync(place.path('agents.ts'), 'utf8');
    writeFileSync(place.path('agents.ts'), `${source}\n`);
    await dev.says(/The server cannot be started: .*ENOENT[\s\S]*Waiting for a change/);
    renameSync(`${node}-old`, node);
    writeFileSync(place.path('agents.ts'), source);
    await dev.says(/Reloaded: assistant/);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('without a file the demo is served, and the serving process ends with the watching one', async () => {
    const empty = createWorkplace();
    try {
      const dev = empty.begin(['dev', '--port', '0', '--json'], { COUNTERSIGN_MODEL: 'demo' });
      const [line] = await dev.says(/\{"type":"serving".*\}/);
      const { url, agents, loginUrl } = JSON.parse(line);
      expect(agents).toEqual(['assistant']);
      expect(loginUrl).toContain('/login?token=');
      expect(existsSync(empty.path('.countersign/runs.sqlite'))).toBe(true);
      dev.child.kill('SIGKILL');
      await dev.ended;
      await expect
        .poll(() =>
          fetch(url).then(
            () => 'there',
            () => 'gone',
          ),
        )
        .toBe('gone');
    } finally {
      empty.close();
    }
  });

  test.each([
    ['is missing', undefined, 3, /There is no file mine\.ts/],
    ['has options that do not fit', '', 2, /whole number/, ['--port', 'x']],
  ])('a file that %s ends it', async (_name, text, code, message, args: readonly string[] = []) => {
    if (text !== undefined) writeFileSync(place.path('mine.ts'), text);
    const ended = await place.countersign(['dev', 'mine.ts', ...args]);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(message);
  });
});

describe('agents files', { timeout: TIMEOUT }, () => {
  test.each([
    ['exports nothing useful', 'export const other = 1;', /exports other, and neither a default nor `ai`/],
    ['has a syntax error', 'export default {;', /has a syntax error[\s\S]*mine\.ts:1/],
    ['uses syntax that cannot be stripped', 'enum A { B }\nexport default A;', /mine\.ts:1\n[\s\S]*no enum/],
    [
      'imports a name that is not there',
      "import { none } from './agents.ts';\nexport default none;",
      /mine\.ts imports what is not there: .*'none'[\s\S]*mine\.ts:1/,
    ],
    ['imports what is not there', "import './none.ts';", /imports what is not there/],
    ['throws', "throw new Error('no config');", /failed while it was loaded: no config\n +at .*mine\.ts:1/],
    [
      'has a misspelt policy',
      'export const server = { mayDecides: () => false }; export default () => 5;',
      /cannot be served: `server` takes no mayDecides. The nearest it takes: mayDecide/,
    ],
    ['gives something else', 'export default () => 5;', /exports a function that gives something else/],
    [
      'brings no store',
      "import { countersign } from 'countersign';\nexport const ai = countersign();",
      /Runs live in a store/,
    ],
  ])('one that %s is said so, with where', async (_name, text, message) => {
    writeFileSync(place.path('mine.ts'), text);
    const { code, stderr } = await place.countersign(['worker', 'mine.ts']);
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });

  test('a mistake in a file that it imports is said with that file', async () => {
    writeFileSync(place.path('mine.ts'), "export { default } from './part.ts';");
    writeFileSync(place.path('part.ts'), 'export default {;');
    const { code, stderr } = await place.countersign(['worker', 'mine.ts']);
    expect(stderr).toMatch(/^error: part\.ts, which mine\.ts imports, has a syntax error/);
    expect(code).toBe(1);
  });

  test('a folder is no file', async () => {
    const { code, stderr } = await place.countersign(['dev', '.countersign']);
    expect(stderr).toMatch(/^error: \.countersign is a folder/);
    expect(code).toBe(2);
  });

  test('one that brings its own store is used by every command, and --store is refused where it has no effect', async () => {
    writeFileSync(
      place.path('agents.ts'),
      `import { countersign } from 'countersign';
      import { sqliteStore } from 'countersign/sqlite';
      export const ai = countersign({ store: sqliteStore('./own.sqlite') });
      ai.defineAgent({ name: 'own' });`,
    );
    expect(await place.json('runs')).toEqual({ items: [], cursor: null });
    expect(existsSync(place.path('own.sqlite'))).toBe(true);
    expect((await place.countersign(['doctor'])).stdout).toMatch(/ok +agents +agents\.ts defines own/);
    const refused = await place.countersign(['worker', '--store', 'sqlite:./x.sqlite']);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain('brings its own store');
  });
});
