// Vitest's global setup: one PostgreSQL and one Chromium for all test files of `npm test`. When you run a few files by
// hand, each file starts its own, and only if it needs one.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { builtInbox } from '../packages/server/test/inbox/built-inbox.ts';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { chromiumPath } from './chromium.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from './postgres.mjs';

export default async function setup() {
  // Vitest calls this once for each project; the workers of all projects inherit the environment.
  if (process.env.COUNTERSIGN_SHARED_SERVERS !== '1' || process.env.COUNTERSIGN_TEST_POSTGRES) return undefined;
  // Vitest would keep the answer that it got before the package was installed.
  const { chromium } = createRequire(import.meta.url)('playwright-core');
  const postgres = await startPostgres({ settings: { fsync: 'off', max_connections: 200 } });
  const browser = await chromium.launchServer({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  process.env.COUNTERSIGN_TEST_POSTGRES = String(postgres.port);
  process.env.COUNTERSIGN_TEST_BROWSER = browser.wsEndpoint();
  buildNextApp();
  // Before the workers start, or each would build it.
  await builtInbox();
  return async () => {
    await browser.close();
    await postgres.stop();
  };
}

/** Builds the Next.js app of the tests beside the first test files. A test that comes too early waits; one finds what failed. */
function buildNextApp() {
  const build = join(import.meta.dirname, '../examples/nextjs-chat/test/build.ts');
  spawn(process.execPath, ['--eval', `(await import(${JSON.stringify(build)})).buildApp()`, '--input-type=module'], {
    stdio: 'ignore',
  });
}
