// Projects for other frameworks, created from the packed packages: each installs, type-checks, and pays once after an approval.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environment, npmInstall, run, tarballs } from './install.ts';

const TEMPLATES = ['openai-agents', 'langgraph', 'mastra', 'genkit'];

type Manifest = {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
};

const manifestOf = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8'));

/** The versions that this repository tests with: they are in npm's cache, and do not change from day to day. */
const TESTED = manifestOf(join(import.meta.dirname, '../../../../test-packages/package.json'));

let root: string;
/** Not named like the framework itself, which npm would mix up with it. */
const folderOf = (template: string) => `${template}-project`;
const inProject = (template: string, ...path: readonly string[]) => join(root, folderOf(template), ...path);

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'countersign-frameworks-'));
  const { 'create-countersign': creator, ...published } = tarballs();
  const manifest = { private: true, dependencies: { 'create-countersign': creator } };
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
  npmInstall(root);
  for (const template of TEMPLATES)
    run(
      'npx',
      ['--no-install', 'create-countersign', folderOf(template), '--template', template, '--no-install'],
      root,
    );
  const needed = TEMPLATES.flatMap((template) =>
    Object.keys(manifestOf(inProject(template, 'package.json')).dependencies),
  );
  const pinned = Object.fromEntries(
    needed.flatMap((name) => (TESTED.dependencies[name] ? [[name, TESTED.dependencies[name]]] : [])),
  );
  const overrides = { ...TESTED.overrides, ...published, ...pinned, typescript: '7.0.2' };
  // One installation for all: the projects are its workspaces, and our packages come from the tarballs.
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({ ...manifest, workspaces: TEMPLATES.map(folderOf), overrides }),
  );
  npmInstall(root);
});

afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

/** Runs beside the programs of the other templates. */
async function output(template: string, command: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd: inProject(template), env: environment() });
  return stdout;
}

test.concurrent.each(TEMPLATES)(
  'the project %s takes the tested versions, type-checks and pays once',
  async (template) => {
    const { dependencies } = manifestOf(inProject(template, 'package.json'));
    for (const [name, range] of Object.entries(dependencies)) {
      const version = TESTED.dependencies[name];
      if (version !== undefined) expect([name, range, admits(range, version)]).toEqual([name, range, true]);
    }
    await output(template, 'npm', 'run', 'typecheck');
    const asked = await output(template, process.execPath, 'agent.ts');
    expect(asked).toMatch(/^Waiting.*: Pay 950 to ACME/m);
    // Two of them decide themselves, and two pause until they are started again.
    if (asked.includes('Paid')) expect(asked.match(/^Paid 950 to ACME/gm)).toHaveLength(1);
    else {
      expect(asked).not.toContain('The bank pays');
      const paid = await output(template, process.execPath, 'agent.ts', 'approve');
      expect(paid.match(/^The bank pays 950 to ACME/gm)).toHaveLength(1);
    }
  },
);

test('a range admits the versions that npm would install for it', () => {
  expect([admits('^1.2.0', '1.3.0'), admits('^1.2.3', '1.2.2'), admits('^0.2.0', '0.3.0')]).toEqual([
    true,
    false,
    false,
  ]);
  expect([admits('~1.4.18', '1.4.20'), admits('~1.4.18', '1.5.0'), admits('1.4.18', '1.4.18')]).toEqual([
    true,
    false,
    true,
  ]);
});

/** For the ranges of our templates: `^1.2.3`, `~1.2.3` and exact versions. */
function admits(range: string, version: string): boolean {
  const [, sign = '', ...least] = /^([\^~]?)(\d+)\.(\d+)\.(\d+)$/.exec(range) ?? [];
  const [low, found] = [least, version.split('.')].map((parts) => parts.map(Number)) as [number[], number[]];
  const fixed = sign === '' ? 3 : sign === '~' || low[0] === 0 ? 2 : 1;
  if (low.length !== 3 || low.slice(0, fixed).join('.') !== found.slice(0, fixed).join('.')) return false;
  const at = low.findIndex((part, index) => part !== found[index]);
  return at < 0 || (found[at] ?? 0) > (low[at] ?? 0);
}
