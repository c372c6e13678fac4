// What knip looks for: files, exports and dependencies that nothing uses.
import { readFileSync } from 'node:fs';

/** Tests of every workspace use these. The list is beside their lock file, which `npm ci` at the root does not install. */
const { dependencies } = JSON.parse(readFileSync(new URL('test-packages/package.json', import.meta.url), 'utf8'));

export default {
  workspaces: {
    '.': {
      entry: [
        'scripts/*.mjs',
        'scripts/*.d.mts',
        'scripts/ratchet/{count,count-import}.mjs',
        'scripts/soak/{soak,server,kills,chart}.mjs',
        'scripts/ratchet/*.test.ts',
        'docs/.vitepress/config.ts',
        'docs/.vitepress/theme/index.ts',
        // Imported by a component, and by its path.
        'docs/.vitepress/theme/playground/{use-playground,node}.ts',
        'docs/source/*.ts',
      ],
      project: ['scripts/**', 'docs/.vitepress/**/*.ts', 'docs/source/*.ts'],
      ignoreDependencies: ['pg'],
      ignoreBinaries: ['apt-get', 'pg_config', 'pngquant', 'vitepress'],
    },
    'packages/countersign': {
      entry: ['src/**/*.{test,test-d}.ts', 'test/**/*.ts', 'scripts/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts', 'scripts/*.ts'],
      ignoreDependencies: [
        '@langchain/core',
        '@langchain/langgraph',
        '@mastra/core',
        '@modelcontextprotocol/client',
        '@openai/agents',
        '@simplewebauthn/server',
        'ai',
        'genkit',
        'pg',
      ],
      ignoreBinaries: ['mount', 'umount'],
    },
    'packages/server': {
      entry: ['test/**/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts'],
      ignoreBinaries: ['codex'],
    },
    'packages/create-countersign': {
      entry: ['test/**/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts'],
      ignoreDependencies: ['@countersign/server', 'countersign', 'hono'],
      ignoreBinaries: ['countersign'],
      ignoreUnresolved: ['next'],
    },
    'apps/inbox': {
      entry: ['src/**/*.test.ts'],
      project: ['src/**/*.{ts,tsx,css}'],
    },
    'packages/restate': {
      entry: ['test/**/*.ts', 'scripts/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts', 'scripts/*.ts'],
    },
    'packages/react': {
      entry: ['src/**/*.{test,test-d}.ts', 'test/**/*.test.ts', 'test/page/main.tsx', 'scripts/*.{ts,mjs}'],
      project: ['src/**/*.{ts,tsx}', 'test/**/*.{ts,tsx}', 'scripts/*.{ts,mjs}'],
      ignoreDependencies: ['@countersign/server', 'ai'],
    },
    examples: {
      entry: ['**/*.ts', '!byo/**', '!nextjs-chat/**', '!deploy/agents.ts'],
      project: ['**/*.ts', '!byo/**', '!nextjs-chat/**', '!deploy/agents.ts'],
    },
    'examples/nextjs-chat': {
      entry: ['test/*.test.ts'],
      project: ['{app,chat,demo-model,recipe,server,test}/**/*.{ts,tsx,css}', '*.ts'],
      ignoreDependencies: [],
    },
  },
  ignoreDependencies: Object.keys(dependencies),
  ignoreExportsUsedInFile: true,
};
