// The pages: paths that lead outside the folder, and texts that contain scripts.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { begin, raw, startServer } from '../server.ts';

/** An inbox, and a secret beside it. */
function builtInbox(): string {
  const root = mkdtempSync(join(tmpdir(), 'countersign-inbox-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const inbox = join(root, 'inbox');
  mkdirSync(join(inbox, 'assets'), { recursive: true });
  mkdirSync(join(inbox, '.git'));
  writeFileSync(join(root, 'secret.txt'), 'SECRET');
  writeFileSync(join(inbox, '.env'), 'SECRET');
  writeFileSync(join(inbox, '.git', 'config.txt'), 'SECRET');
  writeFileSync(
    join(inbox, 'index.html'),
    '<!doctype html><script type="module" src="./assets/app-1.js"></script>INBOX',
  );
  writeFileSync(join(inbox, 'assets', 'app-1.js'), 'export const app = 1;');
  symlinkSync(join(root, 'secret.txt'), join(inbox, 'link.txt'));
  symlinkSync(root, join(inbox, 'up'));
  return inbox;
}

const WAYS_OUT = [
  '/../secret.txt',
  '/assets/../../secret.txt',
  '/%2e%2e/secret.txt',
  '/..%2fsecret.txt',
  '/%2e%2e%2fsecret.txt',
  '/%252e%252e%252fsecret.txt',
  '/%252e%252e/secret.txt',
  '/..\\secret.txt',
  '/..%5csecret.txt',
  '/assets%2f..%2f..%2fsecret.txt',
  '/assets/..%00/../secret.txt',
  '/secret.txt%00.js',
  '/assets/app-1.js%00',
  '//secret.txt',
  '/./../secret.txt',
  '/link.txt',
  '/up/secret.txt',
  '/.env',
  '/.git/config.txt',
  '/%c0%ae%c0%ae/secret.txt',
  '/..;/secret.txt',
  '/assets/....//....//secret.txt',
  '/%2525252e%2525252e/secret.txt',
  '/file:///etc/passwd',
  '/etc/passwd',
  '/%',
  '/%zz',
];

test('no path leads outside the folder of the inbox', async () => {
  const { server } = await startServer({ inboxDir: builtInbox() });
  for (const path of WAYS_OUT) {
    const { status, body } = await raw(server.port, { path });
    expect(body, path).not.toContain('SECRET');
    expect(body, path).not.toContain('root:');
    expect([200, 400, 404], path).toContain(status);
    if (status === 200) expect(body, path).toContain('INBOX');
  }
  const real = await raw(server.port, { path: '/assets/app-1.js' });
  expect(real.body).toBe('export const app = 1;');
  expect(real.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(real.headers.get('cache-control')).toContain('immutable');
});

test('every path of the app serves its page, and its files are found from each', async () => {
  const { url } = await startServer({ inboxDir: builtInbox() });
  for (const path of [
    '/',
    '/runs/run_1',
    '/runs/2026.11.16',
    '/requests/run_1:call_2',
    '/requests/run_1%3Acall_2.call_3',
    '/chat/clerk.v2/chat.1',
    '/index.html',
  ]) {
    const response = await fetch(`${url}${path}`);
    expect(response.status).toBe(200);
    expect(await response.text(), path).toContain('src="/assets/app-1.js"');
    expect(response.headers.get('cache-control')).toBe('no-cache');
  }
  for (const path of ['/missing.js', '/assets/missing.js', '/assets/missing'])
    expect((await fetch(`${url}${path}`)).status, path).toBe(404);
  const etag = (await fetch(`${url}/assets/app-1.js`)).headers.get('etag') ?? '';
  expect((await fetch(`${url}/assets/app-1.js`, { headers: { 'if-none-match': etag } })).status).toBe(304);
});

test('pages run only their own files and cannot be framed', async () => {
  const { url } = await startServer({ inboxDir: builtInbox() });
  for (const path of ['/', '/login?token=wrong', '/api/v1/docs']) {
    const response = await fetch(`${url}${path}`);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy, path).toContain("script-src 'self'");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    if (path !== '/') expect(await response.text()).not.toMatch(/<script|style=|<style|onclick/i);
  }
});

const HOSTILE =
  '<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202Egnp.exe \u200B&quot;';

test('texts of models and people are data in every response, never a page', async () => {
  const { as, ai, url } = await startServer();
  const ask = await as('ann');
  const run = await begin(ask, ai, `ask ${HOSTILE}`);
  const [card] = run.requests;
  expect(card.input.question).toBe(HOSTILE);
  for (const path of [
    `/api/v1/runs/${run.id}`,
    '/api/v1/requests',
    `/api/v1/requests/${card.id}`,
    `/api/v1/runs/${run.id}/events`,
    `/api/v1/chat/teller/${run.id}`,
  ]) {
    const { headers } = await ask('GET', path, undefined, { accept: 'text/html' });
    expect(headers.get('content-type'), path).toMatch(/^application\/json/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
  }
  for (const path of [
    `/api/v1/runs/${encodeURIComponent(HOSTILE)}`,
    `/api/v1/${encodeURIComponent(HOSTILE)}`,
    `/api/v1/runs?${encodeURIComponent(HOSTILE)}=1`,
  ]) {
    const { headers, status } = await ask('GET', path);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(headers.get('content-type'), path).toBe('application/problem+json');
  }
  const page = await fetch(`${url}/login?token=${encodeURIComponent(HOSTILE)}&to=${encodeURIComponent(HOSTILE)}`);
  expect(await page.text()).not.toContain('<img');
});
