// The quick check while you work: format, lint, types, core and rules. It needs nothing but `npm ci`; types of tests and examples
// are checked as soon as the packages that only they need are installed.
import { run, tool } from './run.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { hasTestPackages } from './test-packages.mjs';

const all = hasTestPackages();
if (!all) {
  console.log(
    'Types: sources only. `npm run test-packages` installs what the types of adapters, tests and examples need.\n',
  );
}
const checks = [
  [...tool('@biomejs/biome', 'biome'), 'check', '--error-on-warnings'],
  [...tool('typescript', 'tsc'), '-b', ...(all ? [] : ['tsconfig.sources.json'])],
  [...tool('vitest'), 'run', '--reporter=dot', 'packages/countersign/src/core', 'packages/countersign/test/rules'],
];
for (const [command, ...args] of checks) {
  process.exitCode = run(command, args, { show: true }).code;
  if (process.exitCode !== 0) break;
}
