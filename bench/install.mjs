// node install.mjs [--ours-only] [--commit HEAD] : builds and packs our package, and installs it and every peer, each in its own folder.
//
// Ours is installed from the tarball that npm would publish, so that its footprint (case G) is what a user gets. It is
// built from a copy, so that changes to the sources meanwhile do no harm; with --commit, of that commit.

import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { adapterDir, ROOT } from './lib/adapters.mjs';
import { nodeEnv, REPO } from './lib/node.mjs';

const { values: opt } = parseArgs({
  options: { 'ours-only': { type: 'boolean', default: false }, commit: { type: 'string' } },
});
const PACKAGE = path.join('packages', 'countersign');
const OUT = path.join(ROOT, 'out');
const npm = (cwd, ...args) => {
  const { status, stdout, stderr } = spawnSync('npm', [...args, '--loglevel=error'], {
    cwd,
    env: nodeEnv(),
    encoding: 'utf8',
  });
  if (status === 0) return;
  throw new Error(`npm ${args.join(' ')} failed in ${cwd}:\n${stdout}${stderr}`);
};
const timed = (what, work) => {
  const t = performance.now();
  const said = work();
  console.log(`${what}: ${((performance.now() - t) / 1000).toFixed(1)} s${said ? `, ${said}` : ''}`);
};

timed('countersign built and packed', packOurs);
timed('ours', installOurs);
if (!opt['ours-only'])
  for (const folder of [ROOT, ...peers()]) timed(path.relative(ROOT, folder) || 'harness', () => npm(folder, 'ci'));

function packOurs() {
  // Outside this folder: a package that the harness installs for itself must not be found by the build.
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-bench-'));
  try {
    copySources(copy);
    fs.symlinkSync(path.join(REPO, 'node_modules'), path.join(copy, 'node_modules'));
    npm(path.join(copy, PACKAGE), 'pack', '--pack-destination', copy);
    const tarball = path.join(
      copy,
      fs.readdirSync(copy).find((name) => name.endsWith('.tgz')),
    );
    fs.mkdirSync(OUT, { recursive: true });
    fs.copyFileSync(tarball, path.join(OUT, 'countersign.tgz'));
    return `${Math.round(fs.statSync(tarball).size / 1024)} kB, from ${opt.commit ?? 'the working tree'}`;
  } finally {
    fs.rmSync(copy, { recursive: true });
  }
}

function copySources(to) {
  const files = [PACKAGE, 'tsconfig.base.json'];
  if (opt.commit) {
    const archive = path.join(to, 'sources.tar');
    execFileSync('git', ['archive', '--output', archive, opt.commit, ...files], { cwd: REPO });
    execFileSync('tar', ['-xf', archive, '-C', to]);
    return;
  }
  const left = new Set(['dist', 'node_modules']);
  const filter = (source) => !left.has(path.basename(source));
  for (const name of files) fs.cpSync(path.join(REPO, name), path.join(to, name), { recursive: true, filter });
}

// npm takes a tarball of the same name and version for the same package: the installed one must go first.
function installOurs() {
  const dir = adapterDir('ours');
  for (const name of ['node_modules', 'package-lock.json'])
    fs.rmSync(path.join(dir, name), { recursive: true, force: true });
  npm(dir, 'install', '--prefer-offline');
}

function peers() {
  const adapters = path.join(ROOT, 'adapters');
  return fs
    .readdirSync(adapters)
    .filter((name) => name !== 'ours')
    .map((name) => path.join(adapters, name));
}
