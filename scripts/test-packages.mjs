// Installs what only tests and examples need, such as frameworks and Next.js, unless it is installed for these lock files.
// test-packages/package.json lists it, so that `npm ci` fetches only what builds and serves.
//
//   node scripts/test-packages.mjs   (npm run test-packages)
//
// Everything resolves by npm's rules: each listed package is linked into the node_modules of the root, and a package that the
// root has in the same version is removed here, so that one copy of it is loaded. check-lock.mjs keeps the versions the same.
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { npm, root, runBeside } from './run.mjs';

const folder = join(root, 'test-packages');
const modules = join(folder, 'node_modules');
const stamp = join(modules, '.installed-for');
const LOCK = 'package-lock.json';
const COMMAND = 'npm run test-packages';

const names = Object.keys(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies);
const linkOf = (name) => join(root, 'node_modules', name);

/** Whether tests find all of it. */
export function hasTestPackages() {
  return isInstalled() && names.every((name) => existsSync(linkOf(name)));
}

/** Installs what is missing. It stays when `npm ci` empties the node_modules of the root. */
export async function installTestPackages() {
  if (!isInstalled()) {
    const [command, ...args] = [...npm(), 'ci'];
    const { code, output } = await runBeside(command, args, { cwd: folder });
    if (code !== 0) throw new Error(`npm ci in test-packages failed:\n${output}`);
    for (const path of copies()) rmSync(join(folder, path), { recursive: true, force: true });
    writeFileSync(stamp, key());
  }
  for (const name of names) {
    link(join(modules, name), linkOf(name));
    for (const [command, file] of commandsOf(name)) link(join(modules, name, file), linkOf(`.bin/${command}`));
  }
}

/** For vitest: a test that imports a package that is not installed says what installs it. */
export function explainMissing() {
  const MISSING = '\0countersign-missing:';
  return {
    name: 'countersign-test-packages',
    enforce: 'pre',
    // Vitest keeps transformed modules on disk. Those of before the install say that the package is missing.
    configureVitest({ defineCacheKeyGenerator }) {
      const key = hasTestPackages() ? 'with test packages' : 'without';
      defineCacheKeyGenerator(() => key);
    },
    resolveId(source) {
      const name = names.find((name) => source === name || source.startsWith(`${name}/`));
      return name === undefined || existsSync(linkOf(name)) ? undefined : `${MISSING}${name}`;
    },
    load(id) {
      if (!id.startsWith(MISSING)) return undefined;
      const message = `${id.slice(MISSING.length)} is one of the packages that only tests need. To install them: ${COMMAND}`;
      return `throw new Error(${JSON.stringify(message)});`;
    },
  };
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === key();
}

/** What is installed: the lock file of the tests, without what the root has. */
function key() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`);
  return hash
    .update(readFileSync(join(folder, LOCK)))
    .update(copies().join())
    .digest('hex');
}

/** The packages that the root has in the same version: once removed here, Node finds them there. */
function copies() {
  const [ours, roots] = [folder, root].map((at) => JSON.parse(readFileSync(join(at, LOCK), 'utf8')).packages);
  const isTop = (path) => path.lastIndexOf('node_modules/') === 0;
  return Object.keys(ours).filter((path) => isTop(path) && roots[path]?.version === ours[path].version);
}

/** Its commands, for npx and the scripts of npm. On Windows a link cannot start one. */
function commandsOf(name) {
  const manifest = join(modules, name, 'package.json');
  if (process.platform === 'win32' || !existsSync(manifest)) return [];
  const { bin = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  return typeof bin === 'string' ? [[name.split('/').at(-1), bin]] : Object.entries(bin);
}

function link(target, path) {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkOf(path) === target) return;
  if (!existsSync(target)) return;
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  const onWindows = process.platform === 'win32';
  symlinkSync(onWindows ? target : relative(dirname(path), target), path, onWindows ? 'junction' : 'dir');
}

function readlinkOf(path) {
  return join(dirname(path), readlinkSync(path));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();

async function main() {
  if (hasTestPackages()) {
    console.log('The packages of the tests are installed');
    return;
  }
  const startedAt = performance.now();
  console.log('Installing the packages of the tests: frameworks, Next.js and others …');
  await installTestPackages();
  console.log(`Installed in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
}
