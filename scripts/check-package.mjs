// Checks the packages as npm would publish them: the files in each tarball, and whether entry points and types resolve.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, root, run, tool } from './run.mjs';

const WANTED = ['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts'];
/** Each package, with files that its tarball must contain. */
const PACKAGES = {
  countersign: ['dist/ui/index.js', 'dist/stores/sqlite/sqlite.js'],
  react: [],
  server: ['dist/cli/main.js', 'dist/client/index.js', 'dist/inbox/index.html', 'dist/inbox/licences.txt'],
};

const scratch = mkdtempSync(join(tmpdir(), 'countersign-pack-'));
try {
  for (const [name, more] of Object.entries(PACKAGES)) checkPackage(name, [...WANTED, ...more]);
} finally {
  rmSync(scratch, { recursive: true });
}

function checkPackage(name, wanted) {
  const { filename, files, size } = pack(name);
  console.log(`${filename}: ${files.length} files, ${Math.round(size / 1024)} kB`);

  const paths = files.map((file) => file.path);
  for (const path of wanted) if (!paths.includes(path)) fail(`The package ${name} lacks ${path}.`);
  for (const path of paths) {
    if (/\.test(-d)?\.|\.tsbuildinfo$|tsconfig/.test(path)) fail(`The package ${name} must not hold ${path}.`);
  }

  const tarball = join(scratch, filename);
  check('publint', [...tool('publint'), 'run', tarball, '--strict']);
  const attw = [...tool('@arethetypeswrong/cli', 'attw'), tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'];
  check('attw', attw);
}

// Packing builds into an empty dist (see `prepack`), so no file of an earlier build is published.
function pack(name) {
  const [command, ...args] = [...npm(), 'pack', '--json', '--loglevel=error', '--pack-destination', scratch];
  const { code, stdout, output } = run(command, args, { cwd: join(root, 'packages', name) });
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  return Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]/m))))[0];
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
