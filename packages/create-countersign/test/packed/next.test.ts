// The packed engine in a production build of Next.js: a gated route, every entry point on a server, and a page with those for browsers.
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { engineFolder, engineManifest, entryPoints } from './engine-files.ts';
import { paysOnce } from './gated-page.ts';
import { run, startUntil } from './install.ts';

/** The app is below it, so that Next.js, React and the frameworks come from the packages of the tests. */
const ROOT = resolve(import.meta.dirname, '../../../..');
const NEXT = join(ROOT, 'node_modules/next/dist/bin/next');

const LAYOUT = 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;';

const ENTRIES = Object.keys(entryPoints()).filter((name) => !name.includes('(browser)'));
const NAMES = [
  ...ENTRIES.map((name, index) => `import * as e${index} from '${name}';`),
  "export const dynamic = 'force-dynamic';",
  `export const GET = () => Response.json({ ${ENTRIES.map((name, index) => `'${name}': Object.keys(e${index})`)} });`,
].join('\n');

const PAGE = [
  "'use client';",
  "import * as gate from 'countersign/ai-sdk';",
  "import * as request from 'countersign/request';",
  'export default () => <p>{[...Object.keys(gate), ...Object.keys(request)].join(" ")}</p>;',
].join('\n');

/** Built once: a cache for the next build and small files would cost half of the CPU time. */
const config = () => ({
  turbopack: { root: ROOT },
  outputFileTracingRoot: ROOT,
  serverExternalPackages: Object.keys(engineManifest().peerDependencies),
  experimental: { turbopackFileSystemCacheForBuild: false, turbopackMinify: false, turbopackSourceMaps: false },
});

function writeApp(): string {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.tmp/next-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  cpSync(engineFolder(), join(folder, 'node_modules/countersign'), { recursive: true });
  const files = {
    'package.json': JSON.stringify({ private: true, type: 'module' }),
    'next.config.mjs': `export default ${JSON.stringify(config())};`,
    'app/layout.jsx': LAYOUT,
    'app/page.jsx': PAGE,
    'app/api/names/route.js': NAMES,
    'app/api/gated/route.js': readFileSync(join(import.meta.dirname, 'fixtures/bundle/route.mjs'), 'utf8'),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

test('a build of Next.js starts and pays once, and has every entry point', async () => {
  const folder = writeApp();
  run('node', [NEXT, 'build'], folder);
  const { found, stop } = await startUntil([NEXT, 'start', '-p', '0'], folder, /http:\/\/localhost:\d+/);
  try {
    await paysOnce(`${found[0]}/api/gated`);
    const names = (await (await fetch(`${found[0]}/api/names`)).json()) as Readonly<Record<string, readonly string[]>>;
    expect(Object.keys(names).filter((entry) => names[entry]?.length)).toEqual(ENTRIES);
    expect(names.countersign).toContain('countersign');
    expect(await (await fetch(`${found[0]}`)).text()).toContain('canonicalJson');
  } finally {
    await stop();
  }
  // A message of the gate of the server, which a browser does not get.
  const message = 'of at least 32 bytes.';
  const has = (place: string, part: string) =>
    globSync(`.next/${place}/**/*.js`, { cwd: folder }).some((path) =>
      readFileSync(join(folder, path), 'utf8').includes(part),
    );
  expect([has('server', message), has('static', message)]).toEqual([true, false]);
  expect(has('static', 'canonicalJson')).toBe(true);
});
