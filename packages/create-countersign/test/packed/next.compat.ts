// A gated route in a production build of Next.js, from the packed packages.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, test } from 'vitest';
import { paysOnce } from './gated-page.ts';
import { npmInstall, run, startUntil, tarballs } from './install.ts';
import { NEWEST } from './project.ts';

const LAYOUT = 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;';

test('a build of Next.js starts and pays once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-next-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const { countersign } = tarballs();
  const dependencies = { countersign, ai: NEWEST.ai, next: '16.4.3', react: '19.3.1', 'react-dom': '19.3.1' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  npmInstall(folder);
  mkdirSync(join(folder, 'app/api/gated'), { recursive: true });
  writeFileSync(join(folder, 'app/layout.jsx'), LAYOUT);
  cpSync(join(import.meta.dirname, 'fixtures/bundle/route.mjs'), join(folder, 'app/api/gated/route.js'));

  const next = 'node_modules/next/dist/bin/next';
  run('node', [next, 'build'], folder);
  const { found, stop } = await startUntil([next, 'start', '-p', '0'], folder, /http:\/\/localhost:\d+/);
  try {
    await paysOnce(`${found[0]}/api/gated`);
  } finally {
    await stop();
  }
});
