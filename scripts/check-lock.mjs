// The lockfile must install from a clean clone anywhere: in step with every package.json, and bound to no registry host.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root, run } from './run.mjs';

const [command, ...args] = [...npm(), 'ci', '--dry-run', '--ignore-scripts', '--loglevel=error'];
const dryRun = run(command, args);
if (dryRun.code !== 0) fail(`npm ci would fail:\n${dryRun.output}`);

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
for (const [name, entry] of Object.entries(packages)) {
  if (/^https?:/.test(entry.resolved ?? '')) fail(`${name} is bound to a registry: "resolved": "${entry.resolved}".`);
  for (const optional of Object.keys(entry.optionalDependencies ?? {})) {
    if (!isLocked(name, optional)) fail(`${name} needs ${optional} on some platform, and the lockfile lacks it.`);
  }
}
if (!process.exitCode) console.log(`package-lock.json is sound: ${Object.keys(packages).length} entries`);

// npm looks for a package in the node_modules of the dependent and of each folder above it.
function isLocked(dependent, name) {
  const parts = `/${dependent}`.split('/node_modules/');
  const folders = ['', ...parts.map((_, index) => parts.slice(0, index + 1).join('/node_modules/'))];
  return folders.some((folder) => packages[`${folder}/node_modules/${name}`.slice(1)]);
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
