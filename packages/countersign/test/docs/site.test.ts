// The documentation site: it builds offline, every link and anchor has a target, the sidebar has every page, search works,
// and no page loads anything from elsewhere.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { MOVED } from '../../../../docs/.vitepress/moved.ts';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';
import { testPlayground } from './playground-tests.ts';

const root = resolve(import.meta.dirname, '../../../..');
/** README.md is the list of all pages, and files of the repository have pages below /source/. */
const pages = globSync('**/*.md', { cwd: join(root, 'docs'), exclude: ['index.md', 'README.md', 'source/**'] }).sort();

let folder: string;
let built: ReturnType<typeof spawnSync>;

beforeAll(() => {
  mkdirSync(join(root, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(root, '.tmp/site-'));
  const vitepress = join(root, 'node_modules/vitepress/bin/vitepress.js');
  built = spawnSync(process.execPath, [vitepress, 'build', 'docs', '--outDir', folder], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, SITE_WITHOUT_HIGHLIGHTING: '1' },
  });
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the site builds', () => {
  expect(built.status, `${built.stdout}${built.stderr}`).toBe(0);
  expect(pages.filter((page) => !existsSync(join(folder, htmlOf(page))))).toEqual([]);
});

test('the configuration of the site has no type errors', () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const checked = spawnSync(process.execPath, [tsc, '--project', 'docs', '--pretty', 'false'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(`${checked.stdout}${checked.stderr}`).toBe('');
});

test('every page is in the sidebar, once', () => {
  const sidebar = /<aside class="VPSidebar[\s\S]*?<\/aside>/.exec(read('tutorial.html'))?.[0] ?? '';
  const linked = hrefsOf(sidebar).filter((href) => !href.startsWith('/source/'));
  expect(linked.sort()).toEqual(pages.map((page) => `/${htmlOf(page)}`).sort());
});

test('every link and every image of the site has a target', () => {
  const files = globSync('**/*.html', { cwd: folder });
  expect(files.length).toBeGreaterThan(pages.length);
  expect(files.flatMap((file) => deadLinksOf(file).map((link) => `${file}: ${link}`))).toEqual([]);
});

test('every page has a unique title', () => {
  const titles = ['index.html', 'contents.html', ...pages.map(htmlOf)].map(titleOf);
  expect(titles.filter((title, index) => title === '' || titles.indexOf(title) !== index)).toEqual([]);
});

test('the first page shows the inbox', () => {
  const pictures = hrefsOf(read('index.html')).filter((href) => href.includes('/inbox'));
  expect(pictures.length).toBeGreaterThan(0);
});

test('the old address of a page leads to the new one', () => {
  for (const [from, to] of Object.entries(MOVED)) {
    expect(pages).not.toContain(`${from}.md`);
    expect(hrefsOf(read(`${from}.html`))).toEqual([`/${to}`]);
  }
});

test('llms.txt lists every page of the sidebar in one line, and every address in it answers', () => {
  const text = read('llms.txt');
  expect(text).toMatch(/^# Countersign\n\n> \S.+\n\n/);
  const rows = text.split('\n').filter((line) => line.startsWith('- '));
  const listed = rows.map((row) => /^- \[[^\]]+\]\(([^)]+)\): \S/.exec(row)?.[1] ?? row);
  const written = listed.filter((address) => !address.startsWith('/source/'));
  expect(written.sort()).toEqual([...pages.map((page) => `/${page}`), '/contents.md', '/llms-full.txt'].sort());
  expect(listed.filter((address) => !existsSync(join(folder, address)))).toEqual([]);
  const whole = read('llms-full.txt');
  expect(pages.filter((page) => !whole.includes(`<!-- /${page} -->`))).toEqual([]);
});

test('every page is beside its HTML as Markdown, which has its code, and links that lead on', () => {
  const found = globSync('**/*.md', { cwd: folder }).sort();
  expect(found).toEqual([...pages, 'contents.md', 'index.md'].sort());
  expect(found.filter((page) => !read(htmlOf(page)).includes(`type="text/markdown" href="/${page}"`))).toEqual([]);
  expect(found.filter((page) => !read(page).startsWith('# '))).toEqual([]);
  expect(found.flatMap((page) => deadMarkdownLinksOf(page).map((link) => `${page}: ${link}`))).toEqual([]);
  expect(read('guides/bring-your-own-agent.md')).toContain("from 'countersign/mastra'");
  expect(read('guides/gate.md')).toContain(readFileSync(join(root, 'docs/guides/gate.md'), 'utf8').slice(0, 400));
});

test('search finds the words of people, and no source files', { timeout: 120_000 }, async () => {
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`${await serve()}/`, { waitUntil: 'networkidle' });
  await openSearch(page);
  for (const [words, address] of Object.entries(FOUND)) {
    await page.locator('#localsearch-input').fill(words);
    await expect.poll(() => page.locator('#localsearch-list a').first().getAttribute('href')).toBe(address);
  }
  const [index = ''] = globSync('assets/chunks/@localSearchIndexroot*.js', { cwd: folder });
  expect(read(index)).toContain('/guides/approval.html');
  expect(read(index)).not.toContain('/source/');
});

/** The page may be there before its script listens. Pressing the keys again changes nothing. */
async function openSearch(page: Page): Promise<void> {
  const pressed = async () => {
    await page.keyboard.press('Control+k');
    return page.locator('#localsearch-input').count();
  };
  await expect.poll(pressed, { timeout: 60_000 }).toBe(1);
}

/** What people type, and the section that they find first. */
const FOUND: Readonly<Record<string, string>> = {
  'two people': '/guides/policy-recipes.html#two-people-above-1000',
  'four eyes': '/guides/policy-recipes.html#four-eyes',
  RBAC: '/guides/identity.html#roles-rbac',
  SSO: '/guides/identity.html#single-sign-on-sso-oidc-saml',
  OIDC: '/guides/identity.html#single-sign-on-sso-oidc-saml',
  CFO: '/guides/policy-recipes.html#cfo-above-10000',
  undo: '/guides/recall-and-undo.html#undo',
};

test('search and dark mode work, and nothing comes from another host', async () => {
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const address = await serve();
  const page = await browser.newPage({ colorScheme: 'light' });
  const problems: string[] = [];
  page.on('request', (request) => request.url().startsWith(address) || problems.push(request.url()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));

  await page.goto(`${address}/`, { waitUntil: 'networkidle' });
  await page.getByRole('switch').first().click();
  await page.locator('html.dark').waitFor();

  await openSearch(page);
  await page.locator('#localsearch-input').fill('idempotencyKey');
  await page.getByRole('option').first().click();
  await page.waitForURL(/\.html#/);
  expect(await page.locator('h1').first().textContent()).not.toBe('');
  expect(problems).toEqual([]);
});

testPlayground(serve);

const htmlOf = (page: string): string => page.replace(/\.md$/, '.html');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const titleOf = (file: string): string => /<title>(.*?)<\/title>/.exec(read(file))?.[1] ?? '';

/** The addresses in an HTML text, in the order they stand there. */
function hrefsOf(html: string): string[] {
  return [...html.matchAll(/<(?:a|img)\b[^>]*?\s(?:href|src)="([^"]+)"/g)].map((match) => unescaped(match[1] ?? ''));
}

const unescaped = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

function deadLinksOf(file: string): readonly string[] {
  const inside = hrefsOf(read(file)).filter((href) => !/^([a-z]+:|\/\/)/.test(href));
  return [...new Set(inside)].filter((href) => !hasTarget(file, href));
}

/** Addresses in its text; a program may keep the page, so they begin at the root of the site. An anchor is one of the HTML. */
function deadMarkdownLinksOf(page: string): readonly string[] {
  const text = read(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  const inside = links.filter((link) => !/^[a-z]+:/.test(link));
  const isDead = (link: string) =>
    !/^[/#]/.test(link) ||
    !existsSync(join(folder, link.startsWith('#') ? page : (link.split('#')[0] ?? ''))) ||
    !hasTarget(htmlOf(page), link.replace(/\.md(?=#|$)/, '.html'));
  return inside.filter(isDead);
}

function hasTarget(file: string, href: string): boolean {
  const [path = '', anchor] = href.split('#').map(decodeURIComponent);
  const target = path === '' ? file : posix.join(path.startsWith('/') ? '.' : posix.dirname(file), path);
  const page = target.endsWith('/') || target === '.' ? posix.join(target, 'index.html') : target;
  if (!existsSync(join(folder, page))) return false;
  return anchor === undefined || anchor === '' || idsOf(page).has(anchor);
}

const knownIds = new Map<string, Set<string>>();

function idsOf(file: string): Set<string> {
  const ids =
    knownIds.get(file) ??
    new Set([...read(file).matchAll(/\sid="([^"]+)"/g)].map((match) => unescaped(match[1] ?? '')));
  knownIds.set(file, ids);
  return ids;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** Serves the built files as any static host does. */
async function serve(): Promise<string> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname;
    const file = join(folder, path === '/' ? 'index.html' : decodeURIComponent(path));
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    if (existsSync(file)) response.writeHead(200, { 'content-type': type }).end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
