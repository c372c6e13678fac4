// Checks the packages as npm would publish them: the files in each tarball, and whether entry points and types resolve.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { PACKAGES, PACKED, packAll, packReports } from './pack.mjs';
import { root, run, tool } from './run.mjs';

/** Every file in a tarball fits one of its patterns, and every pattern fits a file. */
const COMPILED = ['dist/**/*.js', 'dist/**/*.js.map', 'dist/**/*.d.ts', 'dist/**/*.d.ts.map', 'src/**/*.ts'];
const CONTENTS = {
  countersign: [
    ...engineFiles(),
    'bin/countersign.js',
    'skills/countersign/SKILL.md',
    'dist/licences.txt',
    'dist/chunks/*.js',
    'dist/chunks/*.js.map',
    'dist/chunks/*.d.ts',
  ],
  'create-countersign': [...COMPILED, 'dist/main.js', 'templates/*/**', 'templates/server/_gitignore'],
  react: [...COMPILED, 'src/**/*.tsx', 'src/styles.css', 'dist/elements/licences.txt'],
  restate: COMPILED,
  server: [
    ...COMPILED,
    'bin/countersign.js',
    'templates/agents.ts',
    'dist/cli/main.js',
    'dist/client/index.js',
    'dist/inbox/assets/*.{css,js}',
    'dist/inbox/*.{html,js,png,svg,txt,webmanifest}',
    'dist/inbox/index.html',
    'dist/inbox/licences.txt',
  ],
};

const given = process.env[PACKED];
const folder = given ?? mkdtempSync(join(tmpdir(), 'countersign-pack-'));
try {
  if (!given) packAll(folder);
  const reports = packReports(folder);
  for (const name of PACKAGES)
    checkPackage(name, reports[name], ['LICENSE', 'README.md', 'package.json', ...CONTENTS[name]]);
} finally {
  if (!given) rmSync(folder, { recursive: true });
}

/** One file per entry point, and its source map. */
function engineFiles() {
  const { exports } = JSON.parse(readFileSync(join(root, 'packages/countersign/package.json'), 'utf8'));
  const files = new Set(Object.values(exports).flatMap((target) => Object.values(target)));
  return [...files].flatMap((file) =>
    file.endsWith('.d.ts') ? [file.slice(2)] : [file.slice(2), `${file.slice(2)}.map`],
  );
}

function checkPackage(name, { filename, files, size }, patterns) {
  console.log(`${filename}: ${files.length} files, ${Math.round(size / 1024)} kB`);

  const paths = files.map((file) => file.path);
  for (const wanted of patterns)
    if (!paths.some((path) => matchesGlob(path, wanted))) fail(`The package ${name} lacks ${wanted}.`);
  for (const path of paths) {
    // The tests and the tsconfig.json of a template belong to the created project.
    const isSpare = !path.startsWith('templates/') && /\.test(-d)?\.|\.tsbuildinfo$|tsconfig/.test(path);
    if (isSpare || !patterns.some((pattern) => matchesGlob(path, pattern)))
      fail(`The package ${name} must not hold ${path}. If it should, add it to CONTENTS in scripts/check-package.mjs.`);
  }

  const tarball = join(folder, filename);
  check('publint', [...tool('publint'), 'run', tarball, '--strict']);
  if (!hasEntryPoint(name)) return;
  const attw = [...tool('@arethetypeswrong/cli', 'attw'), tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'];
  // A stylesheet has no types.
  check('attw', [...attw, '--exclude-entrypoints', './styles.css']);
}

/** `create-countersign` is only a program. */
function hasEntryPoint(name) {
  return 'exports' in JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
}

function check(name, [command, ...args]) {
  const { code, output } = run(command, args);
  console.log(output.trim());
  if (code !== 0) fail(`${name} found a fault.`);
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
