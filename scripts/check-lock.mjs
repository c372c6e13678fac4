// Both lockfiles must install from a clean clone anywhere: in step with every package.json, and bound to no registry host.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root, run } from './run.mjs';

const ROOT = 'package-lock.json';
const TESTS = 'test-packages/package-lock.json';

const locks = new Map([ROOT, TESTS].map((file) => [file, packagesOf(file)]));
for (const [file, packages] of locks) check(file, packages);
compare();

function packagesOf(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
}

function check(file, packages) {
  const [command, ...args] = [...npm(), 'ci', '--dry-run', '--ignore-scripts', '--loglevel=error'];
  const dryRun = run(command, args, { cwd: join(root, file, '..') });
  if (dryRun.code !== 0) fail(`npm ci would fail for ${file}:\n${dryRun.output}`);

  for (const [name, entry] of Object.entries(packages)) {
    if (/^https?:/.test(entry.resolved ?? '')) fail(`${name} is bound to a registry: "resolved": "${entry.resolved}".`);
    for (const optional of Object.keys(entry.optionalDependencies ?? {})) {
      if (!isLocked(packages, name, optional))
        fail(`${name} needs ${optional} on some platform, and ${file} lacks it.`);
    }
  }
  if (!process.exitCode) console.log(`${file} is sound: ${Object.keys(packages).length} entries`);
}

/** Two versions of one package would be loaded beside each other, such as two of zod. */
function compare() {
  const [roots, tests] = [locks.get(ROOT), locks.get(TESTS)];
  for (const [path, { version }] of Object.entries(tests)) {
    const isTop = path.lastIndexOf('node_modules/') === 0;
    const other = roots[path]?.version;
    if (isTop && other !== undefined && other !== version)
      fail(`${path}: ${other} in ${ROOT}, ${version} in ${TESTS}.`);
  }
}

// npm looks for a package in the node_modules of the dependent and of each folder above it.
function isLocked(packages, dependent, name) {
  const parts = `/${dependent}`.split('/node_modules/');
  const folders = ['', ...parts.map((_, index) => parts.slice(0, index + 1).join('/node_modules/'))];
  return folders.some((folder) => packages[`${folder}/node_modules/${name}`.slice(1)]);
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
