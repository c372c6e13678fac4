// Projects created from the packed packages: each installs, type-checks, passes its tests and starts.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paysOnce } from './gated-page.ts';
import { npmInstall, run, startUntil, tarballs } from './install.ts';

const TEMPLATES = ['server', 'nextjs', 'gate'];

/** The versions that this repository develops with: they are in npm's cache, and do not change from day to day. */
const PINNED = {
  '@ai-sdk/react': '4.0.167',
  ai: '7.0.163',
  next: '16.4.3',
  react: '19.3.1',
  'react-dom': '19.3.1',
  typescript: '7.0.2',
};

let root: string;
const inProject = (template: string, ...path: readonly string[]) => join(root, template, ...path);
const inModules = (...path: readonly string[]) => join(root, 'node_modules', ...path);

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'countersign-created-'));
  const ours = tarballs();
  const manifest = { private: true, dependencies: { 'create-countersign': ours['create-countersign'] } };
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
  npmInstall(root);
  for (const template of TEMPLATES)
    run('npx', ['--no-install', 'create-countersign', template, '--template', template, '--no-install'], root);
  // One installation for all: the projects are its workspaces, and our packages come from the tarballs.
  const { 'create-countersign': _, ...published } = ours;
  const overrides = { ...published, ...PINNED };
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, workspaces: TEMPLATES, overrides }));
  npmInstall(root);
});

afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

test.each(TEMPLATES)('the project %s type-checks and passes its tests', (template) => {
  run('npm', ['run', 'typecheck'], inProject(template));
  expect(run('npm', ['test'], inProject(template))).toMatch(/pass 2\n.*fail 0\n/);
});

test('the project server starts: its link signs in, and its inbox and agent are served', async () => {
  const command = inModules('@countersign/server/bin/countersign.js');
  // The keys of a developer, who has installed no provider.
  const keys = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GOOGLE_GENERATIVE_AI_API_KEY: 'k' };
  const wanted = /npm install @ai-sdk\/openai[\s\S]*(http:\S+login\S+)/;
  const { found, stop } = await startUntil([command, 'dev', '--port', '0'], inProject('server'), wanted, keys);
  try {
    const [, link = ''] = found;
    const signedIn = await fetch(link, { redirect: 'manual' });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const get = async (path: string) => (await fetch(new URL(path, link), { headers: { cookie } })).text();
    expect(await get('/')).toContain('<script');
    expect(JSON.parse(await get('/api/v1/agents')).items).toMatchObject([{ name: 'clerk' }]);
  } finally {
    await stop();
  }
});

test('the project nextjs starts: its page loads, a payment in its chat waits, and a gated route pays once', async () => {
  cpSync(join(import.meta.dirname, 'fixtures/bundle/route.mjs'), inProject('nextjs', 'app/api/gated/route.js'));
  const command = inModules('next/dist/bin/next');
  const { found, stop } = await startUntil([command, 'dev', '-p', '0'], inProject('nextjs'), /http:\/\/localhost:\d+/);
  try {
    const [url] = found;
    expect(await (await fetch(url)).text()).toContain('It asks before it acts');
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay ACME 950' }] };
    const body = JSON.stringify({ id: 'chat', messages: [message] });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/api/chat`, { method: 'POST', headers, body });
    expect(await response.text()).toMatch(/"data-request".*"status":"pending"/);
    await paysOnce(`${url}/api/gated`);
  } finally {
    await stop();
  }
});

test('the project gate starts: a payment runs after the answer y', () => {
  const output = run('npm', ['start'], inProject('gate'), 'Pay ACME 950\nn\nPay Bob 500\ny\n');
  expect(output).toMatch(/pay \{"to":"ACME","amount":950\}\nApprove\? \[y\/N\] .*\n.*The tool was not run\./);
  expect(output).toMatch(/Approve\? \[y\/N\] .*\n.*Paid 500 to Bob/);
});
