// Tests that install the packed packages from a registry and run them as users do. `npm test` runs them after packing.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/create-countersign/test/packed/*.test.ts'],
    globalSetup: ['scripts/pack.mjs', 'packages/create-countersign/test/packed/project.ts'],
    maxWorkers: 2,
    // Timeouts are for tests that hang, not for a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
