// Tests that download much: other versions of Node, other runtimes, coding agents, created projects. `npm run compat` runs them.
import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

export default defineConfig({
  resolve: base.resolve,
  test: {
    include: ['{packages,scripts}/**/*.compat.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    globalSetup: ['scripts/pack.mjs', 'packages/create-countersign/test/packed/project.ts'],
    maxWorkers: 2,
    // Timeouts are for tests that hang, not for a busy machine.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
