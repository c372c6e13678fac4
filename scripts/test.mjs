// The test command: every check, each with a heading. All of them run even if one fails.
// The last line sums them up: the tests of vitest, and each other check as one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PACKED } from './pack.mjs';
import { root, runBeside, tool } from './run.mjs';
import { STRAYS_FILE } from './strays.mjs';
import { countTests, readOr } from './test-report.mjs';

const script = (name) => [process.execPath, join(import.meta.dirname, name)];
// Not installed yet, perhaps.
const knip = [process.execPath, join(root, 'node_modules/knip/bin/knip.js')];
const biome = tool('@biomejs/biome', 'biome');
const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));
process.env[PACKED] = join(scratch, 'packed');
// Every process of every check finds compiled code here. The packed tests start npm and the command line dozens of times.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/countersign-compiled');

/** At once: what needs only `npm ci`. Installing waits for the disk and the network, and leaves a core free. */
const AT_ONCE = [
  [['Packages that only tests need', script('test-packages.mjs')]],
  [
    ['Lockfiles', script('check-lock.mjs')],
    ['Format, lint and import cycles', [...biome, 'check', '--error-on-warnings']],
    ['Boundaries hold', script('check-boundaries.mjs')],
    ['Chromium and PostgreSQL', script('prepare-tests.mjs')],
  ],
];
/** At once as well, while the others install, pack and build. */
const EARLY = tests('Tests that need only npm ci', 'early', ['--project=early', '--maxWorkers=2']);
/** One after the other: what the rest needs. Packing builds every package into an empty folder, so it comes before the build. */
const FIRST = [
  ['Packed packages', script('pack-all.mjs')],
  ['Build and types, tests included', [...tool('typescript', 'tsc'), '-b']],
];
const TESTS = tests('Tests', 'tests', ['--project=!early'], { COUNTERSIGN_SHARED_SERVERS: '1' });
/** Beside the tests, one after the other: many tests wait for a browser, a process or a lease, and leave a core free. */
const BESIDE = [
  tests('Installed packages', 'packed', ['--config=vitest.packed.config.ts']),
  ['Unused files, exports and dependencies', knip],
  ['Published packages', script('check-package.mjs')],
  ['Costs of the hot path (costs.json)', script('ratchet/ratchet.mjs')],
  ['Public interface (api.md)', script('api-report.mjs')],
  ['Generated docs: errors', script('docs-errors.mjs')],
  ['Generated docs: the HTTP API', script('docs-api.mjs')],
  ['Programs of other frameworks', script('byo-programs.mjs')],
];

const total = { passed: 0, failed: 0, skipped: 0 };
const summary = [];
try {
  // The output of a check beside others appears once it has ended.
  const early = perform(EARLY, false);
  await Promise.all(AT_ONCE.map(performAll));
  for (const check of FIRST) await perform(check, true);
  await Promise.all([perform(TESTS, true), performAll(BESIDE), early]);
} finally {
  rmSync(scratch, { recursive: true });
}

console.log(`\n=== Summary\n\n${summary.join('\n')}\n`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function performAll(checks) {
  for (const check of checks) await perform(check, false);
}

/** A run of vitest, with what it counted and the errors that belong to no test. */
function tests(title, name, args, env = {}) {
  const report = join(scratch, `${name}.json`);
  const strays = join(scratch, `${name}-strays.json`);
  const reporters = ['default', 'json', join(import.meta.dirname, 'strays.mjs')].map((name) => `--reporter=${name}`);
  return [
    title,
    [...tool('vitest'), 'run', ...args, ...reporters, `--outputFile.json=${report}`],
    (code) => countTests(code, report, readOr(strays, [`vitest wrote no report, and ended with ${code}`])),
    { ...env, [STRAYS_FILE]: strays },
  ];
}

async function perform([title, [command, ...args], count = countOne, env = {}], show) {
  if (show) console.log(`\n=== ${title}\n`);
  const startedAt = performance.now();
  const { code, output } = await runBeside(command, args, { show, env });
  if (!show) console.log(`\n=== ${title}\n\n${output}`);
  const counted = count(code);
  for (const key of Object.keys(total)) total[key] += counted[key];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  summary.push(`${counted.failed > 0 ? 'FAILED' : 'ok    '}  ${title} (${seconds} s)`);
  for (const failure of counted.failures ?? []) summary.push(`          ${failure}`);
}

function countOne(code) {
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}
