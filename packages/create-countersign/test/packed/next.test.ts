// The packed packages in a production build of Next.js: a gated route, and every entry point that needs no peer.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { entryPoints } from './engine-files.ts';
import { paysOnce } from './gated-page.ts';
import { npmInstall, run, startUntil, tarballs } from './install.ts';
import { NEWEST } from './project.ts';

const LAYOUT = 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;';

/** Without those that import a framework, which would be installed for this alone. */
const ENTRIES = Object.keys(entryPoints()).filter((name) => !/\(browser\)|langgraph|genkit/.test(name));
const NAMES = [
  ...ENTRIES.map((name, index) => `import * as e${index} from '${name}';`),
  "export const dynamic = 'force-dynamic';",
  `export const GET = () => Response.json([${ENTRIES.map((_, index) => `Object.keys(e${index})`)}]);`,
].join('\n');

test('a build of Next.js starts and pays once, and has every entry point', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-next-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const { countersign } = tarballs();
  const dependencies = { countersign, ai: NEWEST.ai, next: '16.4.3', react: '19.3.1', 'react-dom': '19.3.1' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  npmInstall(folder);
  mkdirSync(join(folder, 'app/api/gated'), { recursive: true });
  writeFileSync(join(folder, 'app/layout.jsx'), LAYOUT);
  cpSync(join(import.meta.dirname, 'fixtures/bundle/route.mjs'), join(folder, 'app/api/gated/route.js'));
  mkdirSync(join(folder, 'app/api/names'));
  writeFileSync(join(folder, 'app/api/names/route.js'), NAMES);

  const next = 'node_modules/next/dist/bin/next';
  run('node', [next, 'build'], folder);
  const { found, stop } = await startUntil([next, 'start', '-p', '0'], folder, /http:\/\/localhost:\d+/);
  try {
    await paysOnce(`${found[0]}/api/gated`);
    const names = (await (await fetch(`${found[0]}/api/names`)).json()) as readonly string[][];
    expect(names.map((list) => list.length > 0)).toEqual(ENTRIES.map(() => true));
    expect(names[0]).toContain('countersign');
  } finally {
    await stop();
  }
});
