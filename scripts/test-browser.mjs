// The browser that a test file uses: the shared one of `npm test`, or its own.
import { chromium } from 'playwright-core';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { chromiumPath } from './chromium.mjs';

/** Closing it closes this file's contexts, and the process too if this file started it. */
export async function openBrowser() {
  const endpoint = process.env.COUNTERSIGN_TEST_BROWSER;
  if (endpoint !== undefined) return chromium.connect(endpoint);
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
