// Checks the packages as npm would publish them: the files in each tarball, and whether entry points and types resolve.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PACKAGES, PACKED, packAll, packReports } from './pack.mjs';
import { root, run, tool } from './run.mjs';

/** Files that every tarball must contain, that every package with an entry point must contain, and more for some. */
const WANTED = ['LICENSE', 'README.md'];
const ENTRY_POINT = ['dist/index.js', 'dist/index.d.ts'];
const ALSO_WANTED = {
  countersign: ['bin/countersign.js', 'dist/ui/index.js', 'dist/stores/sqlite/sqlite.js'],
  'create-countersign': ['dist/main.js', 'templates/server/agents.ts', 'templates/server/_gitignore'],
  react: ['src/styles.css'],
  server: [
    'bin/countersign.js',
    'templates/agents.ts',
    'dist/cli/main.js',
    'dist/client/index.js',
    'dist/inbox/index.html',
    'dist/inbox/licences.txt',
  ],
};

const given = process.env[PACKED];
const folder = given ?? mkdtempSync(join(tmpdir(), 'countersign-pack-'));
try {
  if (!given) packAll(folder);
  const reports = packReports(folder);
  for (const name of PACKAGES) {
    const entry = hasEntryPoint(name) ? ENTRY_POINT : [];
    checkPackage(name, reports[name], [...WANTED, ...entry, ...(ALSO_WANTED[name] ?? [])]);
  }
} finally {
  if (!given) rmSync(folder, { recursive: true });
}

function checkPackage(name, { filename, files, size }, wanted) {
  console.log(`${filename}: ${files.length} files, ${Math.round(size / 1024)} kB`);

  const paths = files.map((file) => file.path);
  for (const path of wanted) if (!paths.includes(path)) fail(`The package ${name} lacks ${path}.`);
  // The tests and the tsconfig.json of a template belong to the created project.
  for (const path of paths.filter((path) => !path.startsWith('templates/'))) {
    if (/\.test(-d)?\.|\.tsbuildinfo$|tsconfig/.test(path)) fail(`The package ${name} must not hold ${path}.`);
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
