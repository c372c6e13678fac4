// The tests with large downloads: other versions of Node, other runtimes, coding agents, conformance suites (`*.compat.ts`).
// The last line sums them up.
//
//   npm run compat               all of them
//   npm run compat -- runtimes   only the files whose path contains "runtimes"
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, run, tool } from './run.mjs';
import { countTests } from './test-report.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'countersign-compat-'));
const report = join(scratch, 'vitest.json');
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/countersign-compiled');

const [tsc, ...build] = [...tool('typescript', 'tsc'), '-b'];
if (run(tsc, build, { show: true }).code !== 0) process.exit(1);

const [vitest, ...args] = [
  ...tool('vitest'),
  'run',
  '--config=vitest.compat.config.ts',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
];
try {
  const { code } = run(vitest, args, { show: true });
  const { passed, failed, skipped, failures } = countTests(code, report);
  for (const failure of failures) console.log(failure);
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
} finally {
  rmSync(scratch, { recursive: true });
}
