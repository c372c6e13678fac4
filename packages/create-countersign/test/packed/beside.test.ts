// The packed packages beside the oldest and the newest Hono, AI SDK and zod that they claim to work with, in a project as
// `npm init -y` creates it.
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { npmInstall, run, tarballs } from './install.ts';
import { NEWEST, projectFolder } from './project.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const OLDEST = { hono: '4.11.2', ai: '6.0.0', zod: '4.1.8' };
const WORKS = { statuses: [200, 200, 200, 200, 404], served: [401, true], asked: 1, paid: [20] };

const manifestOf = (name: string) => JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'));

test('the oldest versions are those that the packages claim', () => {
  expect(manifestOf('server').dependencies.hono).toBe(`^${OLDEST.hono}`);
  expect(manifestOf('countersign').peerDependencies.ai).toBe(`^${OLDEST.ai} || ^7.0.0`);
  // The engine has its own zod. The server uses the zod of the app, and this is the oldest that ai 6 takes.
  expect(manifestOf('countersign').dependencies.zod).toBe(`^${NEWEST.zod}`);
});

const answers = (folder: string) => {
  copyFileSync(join(import.meta.dirname, 'fixtures/app.ts'), join(folder, 'app.mts'));
  return JSON.parse(run(process.execPath, ['app.mts'], folder));
};

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-beside-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('works beside the oldest Hono, AI SDK and zod', () => {
  const folder = temporaryFolder();
  const { '@countersign/react': _, ...ours } = tarballs();
  const manifest = { name: 'app', version: '1.0.0', type: 'commonjs', dependencies: { ...ours, ...OLDEST } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  npmInstall(folder);
  expect(answers(folder)).toEqual(WORKS);
});

test('works beside the newest Hono, AI SDK and zod', () => {
  // npm may install a second copy of Hono for the server, and `@hono/zod-openapi` then uses the app's.
  const folder = temporaryFolder();
  cpSync(projectFolder(), folder, { recursive: true, verbatimSymlinks: true });
  expect(answers(folder)).toEqual(WORKS);
  const modules = join(folder, 'node_modules');
  cpSync(join(modules, 'hono'), join(modules, '@countersign/server/node_modules/hono'), { recursive: true });
  expect(answers(folder)).toEqual(WORKS);

  // The example of the README; a CommonJS project names it .mts.
  const example = /^```ts run\n([\s\S]*?)^```/m.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))?.[1] ?? '';
  writeFileSync(join(folder, 'example.mts'), example);
  expect(run(process.execPath, ['example.mts'], folder)).toMatch(/^Stand-in model: pay was approved/);
  expect(run('npx', ['--no-install', 'countersign', '--version'], folder)).toBe(`${manifestOf('server').version}\n`);
});
