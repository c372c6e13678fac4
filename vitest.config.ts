// Tests run on the sources. Type tests (*.test-d.ts) are not run: `tsc -b` checks them through tsconfig.test.json.
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import TestOrder from './scripts/test-order.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { explainMissing } from './scripts/test-packages.mjs';

// Every worker and every process that a test starts finds compiled code here, and begins in a third of the time.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/countersign-compiled', import.meta.url));

const source = (path: string): string => fileURLToPath(new URL(`packages/countersign/src/${path}`, import.meta.url));
const server = (path: string): string => fileURLToPath(new URL(`packages/server/src/${path}`, import.meta.url));

/**
 * Tests that keep their state to themselves share a few worker processes and their loaded modules: a process of its own costs a
 * test of the server three seconds of CPU time before it begins.
 */
const SHARED = [
  'packages/{countersign,react,server}/src/**/*.test.ts',
  'apps/**/src/**/*.test.ts',
  'examples/*.test.ts',
  'packages/countersign/test/{bad-input,bound-arguments,conversations,deadlines,grants,models,never-guessed}/**/*.test.ts',
  'packages/countersign/test/{one-decision,passkeys,policies,rules,runs,seeds,started-once}/**/*.test.ts',
  'packages/countersign/test/{sub-agents,take-over,tampering,ui}/**/*.test.ts',
  'packages/countersign/test/{authority,freezes,gate,laws,limits,mcp,notices,origins,outcomes,plans,recall}/*.test.ts',
  'packages/countersign/test/ai-sdk/{gate-*,*-v7}.test.ts',
  'packages/react/test/*.test.ts',
  'packages/server/test/*.test.ts',
  'packages/server/test/{attacks,channels,cli,inbox,links,mcp-gate,processes}/**/*.test.ts',
];
/** Files that mock modules, change or measure their process, or listen to its events get a process each. */
const ALONE = [
  'packages/countersign/test/runs/{costs,listeners,long-runs,titles}.test.ts',
  'packages/countersign/test/started-once/unawaited-steps.test.ts',
  'packages/server/src/live/shared-stats.test.ts',
  'packages/server/test/{chat,followers,log,many,passkeys,shutdown,trace}.test.ts',
  'packages/server/test/mcp-gate/coding-agents.test.ts',
];
/** Shared ones that need only `npm ci`: no build, no test packages, no PostgreSQL, no Chromium. `npm test` runs them at once. */
const EARLY = [
  'packages/{countersign,react,server}/src/**/*.test.ts',
  'packages/countersign/test/{bad-input,bound-arguments,conversations,deadlines,grants,never-guessed}/**/*.test.ts',
  'packages/countersign/test/{one-decision,passkeys,policies,rules,runs,seeds,started-once}/**/*.test.ts',
  'packages/countersign/test/{sub-agents,take-over,tampering}/**/*.test.ts',
];
/** Files of these folders that need more. */
const LATER = [
  'packages/countersign/src/{loop/tool/schema,testing/language-model}.test.ts',
  'packages/countersign/test/{bad-input/run-queries,conversations/recorded-senders}.test.ts',
  'packages/countersign/test/{deadlines/escalation-across-processes,grants/crash,grants/races}.test.ts',
  'packages/countersign/test/{never-guessed/fixtures-of-older-versions,runs/drills}.test.ts',
  'packages/countersign/test/{one-decision/changed-elsewhere,one-decision/races,policies/absence,policies/races}.test.ts',
  'packages/countersign/test/started-once/{every-write,kill,zombie}.test.ts',
  'packages/countersign/test/{take-over/rolling-restart,tampering/damaged-rows,tampering/evidence}.test.ts',
];
const find = (files: readonly string[], exclude: readonly string[]) =>
  globSync(files, { cwd: import.meta.dirname, exclude: [...exclude, ...ALONE, '**/node_modules/**'] });
const early = find(EARLY, LATER);
const shared = find(SHARED, early);

export default defineConfig({
  plugins: [explainMissing()],
  resolve: {
    alias: [
      { find: /^countersign$/, replacement: source('index.ts') },
      { find: /^countersign\/ai-sdk$/, replacement: source('gates/ai-sdk/index.ts') },
      { find: /^countersign\/request$/, replacement: source('request.ts') },
      { find: /^countersign\/mastra$/, replacement: source('gates/mastra/index.ts') },
      { find: /^countersign\/mcp$/, replacement: source('mcp/index.ts') },
      { find: /^countersign\/langgraph$/, replacement: source('gates/langgraph/index.ts') },
      { find: /^countersign\/genkit$/, replacement: source('gates/genkit/index.ts') },
      { find: /^countersign\/openai-agents$/, replacement: source('gates/openai-agents/index.ts') },
      { find: /^countersign\/postgres$/, replacement: source('stores/postgres/postgres.ts') },
      { find: /^countersign\/sqlite$/, replacement: source('stores/sqlite/sqlite.ts') },
      { find: /^countersign\/store$/, replacement: source('store.ts') },
      { find: /^countersign\/testing$/, replacement: source('testing/index.ts') },
      { find: /^@countersign\/server$/, replacement: server('index.ts') },
      { find: /^@countersign\/server\/client$/, replacement: server('client/index.ts') },
      {
        find: /^@countersign\/restate$/,
        replacement: fileURLToPath(new URL('packages/restate/src/index.ts', import.meta.url)),
      },
      { find: /^countersign\/ui$/, replacement: source('ui/index.ts') },
    ],
  },
  test: {
    projects: [
      { extends: true, test: { name: 'early', include: early, isolate: false } },
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['{packages,apps,scripts,examples}/**/*.test.ts'],
          exclude: [
            ...early,
            ...shared,
            '**/node_modules/**',
            '**/dist/**',
            'packages/create-countersign/{templates,test/packed}/**',
          ],
        },
      },
    ],
    globalSetup: ['scripts/test-servers.mjs'],
    sequence: { sequencer: TestOrder },
    // Three times the cores of the smallest machine: many tests wait for a browser, a process or a lease.
    maxWorkers: 6,
    // Timeouts are for tests that hang, not for a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
});
