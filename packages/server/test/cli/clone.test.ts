// The command in a clone of the repository: npm links it before anything is built.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const SERVER = resolve(import.meta.dirname, '../..');

test('npm can link the command without a build', () => {
  const { bin } = JSON.parse(readFileSync(join(SERVER, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  const [path = ''] = Object.values(bin);
  expect(path).not.toContain('dist');
  expect(existsSync(join(SERVER, path))).toBe(true);
});

test('the command builds the server once', () => {
  const clone = mkdtempSync(join(tmpdir(), 'countersign-clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true }));
  cpSync(join(SERVER, 'bin'), join(clone, 'packages/server/bin'), { recursive: true });
  mkdirSync(join(clone, 'scripts'));
  writeFileSync(
    join(clone, 'scripts/build-server.mjs'),
    `import { mkdirSync, writeFileSync } from 'node:fs';
    const dist = new URL('../packages/server/dist/', import.meta.url);
    for (const [folder, file, text] of [['cli/', 'main.js', 'console.log(process.argv[2])'], ['inbox/', 'index.html', '']]) {
      mkdirSync(new URL(folder, dist), { recursive: true });
      writeFileSync(new URL(folder + file, dist), text);
    }
    console.log('built');`,
  );
  writeFileSync(join(clone, 'package.json'), '{ "type": "module" }');
  const command = join(clone, 'packages/server/bin/countersign.js');
  const run = () => execFileSync(process.execPath, [command, 'runs'], { encoding: 'utf8' });
  expect(run()).toBe('built\nruns\n');
  expect(run()).toBe('runs\n');
});
