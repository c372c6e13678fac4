// The Python package: its own tests, its types, the wheel and the source archive, and the program of the guide.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startServer } from '../server.ts';
import { PACKAGE, place } from './python-program.ts';

const GUIDE = join(import.meta.dirname, '../../../../docs/guides/python.md');
const VERSION = /^version = "(.+)"$/m.exec(readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8'))?.[1];
const hash = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Builds as a frontend does: in a process that has the folder of the sources as its own. */
const build = (sources: string, into: string) =>
  `import sys, os; os.chdir(${JSON.stringify(sources)}); sys.path.insert(0, "."); import build_backend as b; ` +
  `print(b.build_wheel(${JSON.stringify(into)})); print(b.build_sdist(${JSON.stringify(into)}))`;

test('its own tests pass', async () => {
  const { start } = place('http://127.0.0.1:9', 'cs_none');
  const ended = await start(['-m', 'unittest', 'discover', '-s', join(PACKAGE, 'test')]).ended;
  expect(ended).toMatchObject({ code: 0, err: expect.stringMatching(/Ran \d{2,} tests[\s\S]*OK/) });
});

test('its types are complete, and those of gated functions are kept', () => {
  const pyright = createRequire(import.meta.url).resolve('pyright/index.js');
  const check = (...args: string[]) =>
    spawnSync(process.execPath, [pyright, ...args], { cwd: PACKAGE, encoding: 'utf8' }).stdout;
  expect(check()).toContain('0 errors, 0 warnings');
  const { folder } = place('', '');
  const program = join(folder, 'program.py');
  writeFileSync(
    program,
    `from countersign import Gate, gated, asking
gate = Gate("https://x", "t")
@gate.gated(tool="pay", risk="high")
def pay(to: str, amount: int) -> bool: return True
@gated()
async def send(to: str) -> bytes: return b""
reveal_type(pay)
reveal_type(send("x"))
reveal_type(asking(pay, key="k")("ann", 1))
pay("ann")
gate.gated(risk="huge")
gate.call("pay", {}, titel="x")
`,
  );
  writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify({ extraPaths: [join(PACKAGE, 'src')] }));
  const said = check('--project', folder);
  expect(said).toContain('Type of "pay" is "(to: str, amount: int) -> bool"');
  expect(said).toMatch(/Type of "send\("x"\)" is "(?:CoroutineType|Coroutine)\[Any, Any, bytes\]"/);
  expect(said).toContain('Type of "asking(pay, key="k")("ann", 1)" is "bool"');
  expect([...said.matchAll(/program\.py:(\d+):\d+ - error/g)].map(([, line]) => line)).toEqual(['10', '11', '12']);
});

test('the wheel and the source archive build without a network, with the same bytes each time', async () => {
  const { folder, start } = place('', '');
  const files = [`countersign-${VERSION}-py3-none-any.whl`, `countersign-${VERSION}.tar.gz`] as const;
  const [one, two, unpacked] = ['one', 'two', 'unpacked'].map((name) => join(folder, name)) as [string, string, string];
  for (const into of [one, two, unpacked]) mkdirSync(into);
  expect(await start(['-c', build(PACKAGE, one)]).ended).toMatchObject({ code: 0, out: files });
  await start(['-m', 'tarfile', '-e', join(one, files[1]), unpacked]).ended;
  // What the source archive has is enough to build both again.
  expect(await start(['-c', build(join(unpacked, `countersign-${VERSION}`), two)]).ended).toMatchObject({ out: files });
  for (const file of files) expect(hash(join(two, file))).toBe(hash(join(one, file)));
});

test('the program of the guide runs as it is written, from an installed wheel', { timeout: 120_000 }, async () => {
  const server = await startServer();
  const { folder, start } = place(server.url, await server.tokenFor('ci', { scopes: ['start'] }));
  await start(['-c', build(PACKAGE, folder)]).ended;
  expect(await start(['-m', 'venv', '--without-pip', 'venv']).ended).toMatchObject({ code: 0 });
  const [packages] = globSync(join(folder, 'venv/lib/python3.*/site-packages')) as [string];
  await start(['-m', 'zipfile', '-e', `countersign-${VERSION}-py3-none-any.whl`, packages]).ended;
  const [, code = ''] = /```python\n([\s\S]*?)```/.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  writeFileSync(join(folder, 'refund.py'), code);
  const inVenv = (args: readonly string[]) => start(args, { PYTHONPATH: '' }, join(folder, 'venv/bin/python'));
  const about = `import countersign, importlib.metadata as m; print(m.version("countersign"), countersign.__file__)`;
  expect(await inVenv(['-c', about]).ended).toMatchObject({
    err: '',
    out: [`${VERSION} ${join(packages, 'countersign/__init__.py')}`],
  });

  const program = inVenv(['refund.py', '7']);
  await program.said('refund waits for a decision');
  const [asked] = (await server.ai.runs.requests()).items;
  expect(asked).toMatchObject({ title: 'Refund 950 to ann', risk: 'high' });
  await server.ai.runs.decide(asked?.id ?? '', 'approve', { by: 'ci' });
  expect(await program.ended).toMatchObject({ code: 0, out: [`{'refunded': 950, 'to': 'ann'}`] });
  const rejected = inVenv(['refund.py', '8']);
  await rejected.said('refund waits for a decision');
  const [next] = (await server.ai.runs.requests()).items;
  await server.ai.runs.decide(next?.id ?? '', { type: 'reject', reason: 'Too late.' }, { by: 'ci' });
  expect((await rejected.ended).out).toEqual(['Not refunded: Too late.']);
});
