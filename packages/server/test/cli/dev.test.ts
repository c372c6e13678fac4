// `dev` as a process: the sign-in link, reloads, and mistakes in the agents file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../../scripts/free-port.mjs';
import { KEYS } from './pty.ts';
import { COMMAND_LINE, createWorkplace, PAY, workplaceForEach } from './workplace.ts';

const place = workplaceForEach();

const TIMEOUT = 120_000;
const LINK = /(http:\/\/localhost:\d+)\/login\?token=\S+/;

describe('dev', { timeout: TIMEOUT }, () => {
  test.each([
    ['says commonjs, as `npm init` writes it', '{ "type": "commonjs" }'],
    ['has no type', '{}'],
  ])('modules load without a warning if package.json %s', async (_, manifest) => {
    writeFileSync(place.path('package.json'), manifest);
    const source = readFileSync(place.path('agents.ts'), 'utf8');
    writeFileSync(place.path('names.ts'), "export const NAME: string = 'clerk';\n");
    writeFileSync(place.path('old.js'), "// export default\nmodule.exports = { old: 'as ever' };\n");
    const imports =
      "import { NAME } from './names.ts';\nimport old from './old.js';\nif (old.old !== 'as ever') throw old;\n";
    writeFileSync(place.path('agents.ts'), imports + source.replace("name: 'assistant',", 'name: NAME,'));
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/serving clerk from agents\.ts/);
    expect(dev.output()).not.toMatch(/warning/i);
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  });

  test('prints a sign-in link, reloads on change, keeps runs and port, and survives a mistake', async () => {
    const [run = ''] = await place.start(PAY);
    const dev = place.begin(['dev', '--port', '0']);
    const [, docs = ''] = await dev.says(/Docs +(.+\.md)/);
    expect(existsSync(docs)).toBe(true);
    await dev.says(/Reloads when a file changes/);
    const [link, url = ''] = await dev.says(LINK);
    const signedIn = await fetch(link, { redirect: 'manual' });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    expect(signedIn.status).toBeGreaterThanOrEqual(300);
    const agents = async () =>
      (await (await fetch(`${url}/api/v1/agents`, { headers: { cookie } })).json()) as { items: { name: string }[] };
    expect((await agents()).items.map(({ name }) => name)).toEqual(['assistant']);

    const source = readFileSync(place.path('agents.ts'), 'utf8');
    writeFileSync(place.path('agents.ts'), source.replace("name: 'assistant',", "name: 'helper',"));
    await dev.says(/agents\.ts changed/);
    await dev.says(/Reloaded helper from agents\.ts/);
    expect((await agents()).items.map(({ name }) => name)).toEqual(['helper']);

    writeFileSync(place.path('agents.ts'), `${source}\nconst = ;`);
    await dev.says(/agents\.ts failed to load:[\s\S]*SyntaxError/);
    await dev.says(/Waiting for a file change/);
    writeFileSync(place.path('agents.ts'), source);
    await dev.says(/Reloaded assistant/);
    const runs = (await (await fetch(`${url}/api/v1/runs`, { headers: { cookie } })).json()) as {
      items: { id: string; status: string }[];
    };
    expect(runs.items).toMatchObject([{ id: run, status: 'waiting' }]);

    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('the link is the last line at the start, works again while signed in, and is renewed when it does not', async () => {
    const dev = place.terminal(['dev', '--port', '0'], { env: { NO_COLOR: '1' } });
    const [link] = await dev.says(LINK);
    const lines = () => dev.output().trim().split(/\r?\n/);
    expect(lines().at(-1)?.trim()).toBe(link);
    const opened = await fetch(link, { redirect: 'manual' });
    const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const again = await fetch(link, { redirect: 'manual', headers: { cookie } });
    expect([again.status, again.headers.get('location')]).toEqual([303, '/chat/assistant']);
    expect(dev.output().match(/login\?token=/g)).toHaveLength(1);
    for (const _time of [1, 2, 3]) expect((await fetch(link)).status).toBe(401);
    const [fresh] = await dev.says(LINK);
    expect(lines().at(-1)?.trim()).toBe(fresh);
    expect(dev.output().match(/login\?token=/g)).toHaveLength(2);
    expect((await fetch(fresh, { redirect: 'manual' })).status).toBe(303);
    dev.press(KEYS.interrupt);
    expect(await dev.ended).toBe(0);
  });

  test('after a reload, a spent link is renewed, too; with --json as a line of JSON', async () => {
    const dev = place.begin(['dev', '--port', '0', '--json']);
    const [line] = await dev.says(/\{"type":"serving".*\}/);
    const { loginUrl } = JSON.parse(line);
    await fetch(loginUrl, { redirect: 'manual' });
    writeFileSync(place.path('agents.ts'), `${readFileSync(place.path('agents.ts'), 'utf8')}\n`);
    await dev.says(/\{"type":"reloaded".*\}/);
    expect((await fetch(loginUrl)).status).toBe(401);
    const [renewed] = await dev.says(/\{"type":"login-link".*\}/);
    expect((await fetch(JSON.parse(renewed).loginUrl, { redirect: 'manual' })).status).toBe(303);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('every response with status 500 is printed with its stack', async () => {
    const source = readFileSync(place.path('agents.ts'), 'utf8');
    const broken = "export const server = { identify: () => { throw new TypeError('The login is broken.'); } };";
    writeFileSync(place.path('agents.ts'), `${source}\n${broken}`);
    const dev = place.begin(['dev', '--port', '0']);
    const [, url] = await dev.says(/API +(http:\S+)\/api/);
    expect((await fetch(`${url}/api/v1/runs`)).status).toBe(500);
    await dev.says(
      /error: request GET \/api\/v1\/runs responded with 500\. The login is broken\.\n +at .*agents\.ts:\d+:\d+/,
    );
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  });

  test('Ctrl-C in a terminal stops both processes cleanly', async () => {
    const dev = place.terminal(['dev', '--port', '0'], { env: { NO_COLOR: '1' } });
    await expect.poll(() => dev.output(), { timeout: 30_000 }).toContain('Press Ctrl-C to stop.');
    const [url = ''] = /http:\/\/localhost:\d+/.exec(dev.output()) ?? [];
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    dev.press(KEYS.interrupt);
    expect(await dev.ended).toBe(0);
    expect(dev.output()).not.toContain('error');
    await expect(fetch(url)).rejects.toThrow();
  });

  test('files that the agents import are watched', async () => {
    writeFileSync(place.path('name.ts'), "export const NAME = 'first';");
    writeFileSync(
      place.path('countersign.config.ts'),
      `import { countersign } from 'countersign';
      import { NAME } from './name.ts';
      export default ({ store }: any) => { const ai = countersign({ store }); ai.defineAgent({ name: NAME }); return ai; };`,
    );
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/serving first from countersign\.config\.ts/);
    await dev.says(LINK);
    writeFileSync(place.path('name.ts'), "export const NAME = 'second';");
    await dev.says(/name\.ts changed/);
    await dev.says(/Reloaded second/);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('files that agents write do not reload, a new default agents file does', async () => {
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/serving assistant/);
    await dev.says(LINK);
    writeFileSync(place.path('ledger.json'), '{"paid":950}');
    writeFileSync(place.path('other.ts'), 'export {};');
    writeFileSync(
      place.path('countersign.config.ts'),
      `import { countersign } from 'countersign';
      export default ({ store }: any) => { const ai = countersign({ store }); ai.defineAgent({ name: 'second' }); return ai; };`,
    );
    await dev.says(/Reloaded second from countersign\.config\.ts/);
    writeFileSync(place.path('ledger.json'), '{"paid":1900}');
    // A reload would start 0.1 seconds after a change.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(dev.output()).not.toMatch(/(ledger\.json|other\.ts) changed/);
    expect(dev.output().match(/Reloaded/g)).toHaveLength(1);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('a mistake at the start is reported, and any change retries', async () => {
    writeFileSync(place.path('agents.ts'), "export { default } from './missing.ts';");
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/agents\.ts failed to load:[\s\S]*missing\.ts/);
    await dev.says(/Waiting for a file change/);
    writeFileSync(
      place.path('missing.ts'),
      `import { countersign } from 'countersign';
      export default ({ store }: any) => { const ai = countersign({ store }); ai.defineAgent({ name: 'found' }); return ai; };`,
    );
    await dev.says(/missing\.ts changed/);
    await dev.says(/serving found/);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('a file that never finishes loading is abandoned when it changes', async () => {
    const dev = place.begin(['dev', '--port', String(await freePort())]);
    await dev.says(LINK);
    const source = readFileSync(place.path('agents.ts'), 'utf8');
    const begun = "import { writeFileSync } from 'node:fs';\nwriteFileSync('loading', '');\n";
    writeFileSync(
      place.path('agents.ts'),
      `${begun}${source}\nAtomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
    );
    await expect.poll(() => existsSync(place.path('loading')), { timeout: 30_000 }).toBe(true);
    writeFileSync(place.path('agents.ts'), source);
    await dev.says(/did not stop within 12 seconds and was killed[\s\S]*Reloaded assistant/);
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  });

  test('without a file it serves the demo, and the serving process ends with the watching one', async () => {
    const empty = createWorkplace();
    try {
      const dev = empty.begin(['dev', '--port', '0', '--json'], { COUNTERSIGN_MODEL: 'stand-in' });
      const [line] = await dev.says(/\{"type":"serving".*\}/);
      const { url, agents, loginUrl } = JSON.parse(line);
      expect(agents).toEqual(['assistant']);
      const opened = await fetch(loginUrl, { redirect: 'manual' });
      expect(opened.headers.get('location')).toBe('/chat/assistant');
      const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const waiting = await fetch(`${url}/api/v1/requests`, { headers: { cookie } });
      expect(((await waiting.json()) as { items: object[] }).items).toMatchObject([
        { title: 'Pay 950 EUR to Sample Supplies', payload: { message: 'In this demo, no money moves.' } },
      ]);
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
    ['a function', 'export default ({ store }: any) => define(countersign({ store }));'],
    ['an instance', "export default define(countersign({ store: sqliteStore('own.sqlite') }));"],
  ])('agents without a model get the stand-in if the file exports %s', async (_, exported) => {
    writeFileSync(
      place.path('agents.ts'),
      `import { countersign, z } from 'countersign';
      import { sqliteStore } from 'countersign/sqlite';
      const define = (ai: any) => {
        const inputSchema = z.object({ city: z.string() });
        const warn = ai.defineTool({ name: 'warnCity', description: 'Warns.', inputSchema }, ({ city }: any) => city + ' is warned');
        ai.defineAgent({ name: 'weather', tools: [warn] });
        return ai;
      };
      ${exported}`,
    );
    const dev = place.begin(['dev', '--port', '0']);
    await dev.says(/No API key is set, so a stand-in replies/);
    const [link, url = ''] = await dev.says(/(http:\/\/localhost:\d+)\/login\?token=\S+/);
    const signedIn = await fetch(link, { redirect: 'manual' });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const started = await fetch(`${url}/api/v1/runs`, {
      method: 'POST',
      headers: { cookie, origin: url, 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'weather', prompt: 'Warn the city Berlin' }),
    });
    const { id } = (await started.json()) as { id: string };
    const textOf = async () =>
      ((await (await fetch(`${url}/api/v1/runs/${id}`, { headers: { cookie } })).json()) as { text: string }).text;
    await expect.poll(textOf, { timeout: 30_000 }).toBe('Stand-in model: warnCity returned Berlin is warned.');
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  });

  test.each([
    ['a missing file', undefined, 3, /File mine\.ts not found/],
    ['an invalid option', '', 2, /whole number/, ['--port', 'x']],
  ])('%s ends it', async (_name, text, code, message, args: readonly string[] = []) => {
    if (text !== undefined) writeFileSync(place.path('mine.ts'), text);
    const ended = await place.countersign(['dev', 'mine.ts', ...args]);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(message);
  });
});

/** Ends one command in the output of a process that runs several. */
const END = '\0';

/** Runs `countersign worker FILE` for each file in one process, and returns the exit codes and errors. None of them starts a worker. */
async function loadEach(files: readonly string[]): Promise<readonly (readonly [code: number, errors: string])[]> {
  const script = `const { runCommandLine } = await import(${JSON.stringify(COMMAND_LINE)});
    for (const file of process.argv.slice(1)) {
      const code = await runCommandLine(['worker', file]);
      process.stderr.write(${JSON.stringify(END)} + code + ${JSON.stringify(END)});
    }
    process.exit();`;
  const { stderr } = await place.run(process.execPath, ['--input-type=module', '--eval', script, ...files]);
  const parts = stderr.split(END);
  return files.map((_, index) => [Number(parts[2 * index + 1]), parts[2 * index] ?? '']);
}

describe('agents files', { timeout: TIMEOUT }, () => {
  test('a file that cannot be used is reported with its location', async () => {
    const faults: readonly (readonly [text: string, message: RegExp])[] = [
      ['export const other = 1;', /must export an instance as default or `ai`\. It exports: other/],
      ['export default {;', /failed to load:[\s\S]*mine\.ts:1[\s\S]*SyntaxError/],
      // Syntax that cannot be stripped.
      ['enum A { B }\nexport default A;', /mine\.ts:1\n[\s\S]*only strips types/],
      [
        "import { none } from './agents.ts';\nexport default none;",
        /mine\.ts failed to load:[\s\S]*mine\.ts:1[\s\S]*'none'[\s\S]*Fix the name/,
      ],
      ["import './none.ts';", /failed to load:[\s\S]*none\.ts[\s\S]*fix the path/],
      ["throw new Error('no config');", /failed to load:\n +Error: no config\n +at .*mine\.ts:1/],
      [
        'export const server = { mayDecides: () => false }; export default () => 5;',
        /Invalid `server` options in \d-mine\.ts: .*mayDecides/,
      ],
      ['export default () => 5;', /exports a function that returns something else/],
      // No store.
      ["import { countersign } from 'countersign';\nexport const ai = countersign();", /Runs live in a store/],
      // A mistake in an imported file names that file.
      [
        "export { default } from './part.ts';",
        /^error: 9-mine\.ts failed to load:\n[\s\S]*part\.ts:1[\s\S]*SyntaxError/,
      ],
    ];
    writeFileSync(place.path('part.ts'), 'export default {;');
    for (const [index, [text]] of faults.entries()) writeFileSync(place.path(`${index}-mine.ts`), text);
    const ended = await loadEach(faults.map((_, index) => `${index}-mine.ts`));
    for (const [index, [text, message]] of faults.entries())
      expect(ended[index], text).toEqual([1, expect.stringMatching(message)]);
  });

  test('a folder is refused', async () => {
    const { code, stderr } = await place.countersign(['dev', '.countersign']);
    expect(stderr).toMatch(/^error: \.countersign is a folder/);
    expect(code).toBe(2);
  });

  test('every command uses the store in the agents file, and --store is refused', async () => {
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
    expect(refused.stderr).toContain('has its own store');
  });
});
