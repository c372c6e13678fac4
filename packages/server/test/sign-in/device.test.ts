// `countersign login` by the device flow, with the real program, a real provider, and a browser that confirms the code.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listTokens } from '@countersign/server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { workplaceForEach } from '../cli/workplace.ts';
import { begin } from '../server.ts';
import { CLIENT, confirmDevice, openCompany } from './company.ts';

vi.setConfig({ testTimeout: 60_000 });
const place = workplaceForEach({ agents: false });

function ownSettings() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-login-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { file: join(folder, 'countersign/tokens.json'), env: { XDG_CONFIG_HOME: folder } };
}

test('the program prints a code, waits for the person, and acts as them until they sign out', async () => {
  const { url, ai, as, paid } = await openCompany({
    company: { roles: { Payments: 'finance' } },
    instance: { policyFor: () => ({ deciders: { roles: ['finance'] } }) },
  });
  const { file, env } = ownSettings();
  const login = place.begin(['login', '--url', url], env);
  const [, address = ''] = await login.says(/in a browser: (http\S+)/);
  const [, code = ''] = await login.says(/this code:\s+(\S+)/);
  expect(await confirmDevice({ address, code }, 'ann')).toContain('Sign-in Success');
  await login.says(/Signed in to \S+ as ann@example\.com until/);
  expect(await login.ended).toBe(0);

  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { token } = JSON.parse(readFileSync(file, 'utf8'))[url];
  const me = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  expect(await me.json()).toMatchObject({ id: 'ann@example.com', roles: ['finance'] });

  const { requests } = await begin(await as('paul'), ai, 'pay bob 500');
  const decided = await place.spawned(['approve', requests[0].id, '--yes', '--url', url], env);
  expect(decided).toMatchObject({ code: 0 });
  await vi.waitFor(() => expect(paid).toEqual([{ to: 'bob', amount: 500 }]), 5_000);

  const out = await place.spawned(['logout', '--url', url], env);
  expect(out).toMatchObject({ code: 0, stdout: expect.stringContaining('Signed out') });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({});
  expect((await listTokens(ai.runs.notes)).filter(({ person }) => person === 'ann@example.com')).toEqual([]);
});

test('a token of this kind ends when the company signs the person out', async () => {
  const { url, provider } = await openCompany({ client: { backchannel_logout_session_required: false } });
  const json = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const begun: any = await (await json('/login/device', {})).json();
  const poll = async () =>
    (await json('/login/device/token', { deviceCode: begun.device_code })).json() as Promise<any>;
  expect(await poll()).toEqual({ status: 'pending' });
  await confirmDevice({ address: begun.verification_uri, code: begun.user_code }, 'ann');
  const { token, expiresAt } = await poll();
  expect(expiresAt).toBeGreaterThan(Date.now());
  const me = async () => (await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await me()).toBe(200);
  // A code counts once.
  expect(await poll()).toMatchObject({ code: 'not-allowed', status: 403 });
  await (await provider.Client.find(CLIENT.clientId)).backchannelLogout('ann');
  expect(await me()).toBe(401);
});

test('without a device flow, the program says what to do', async () => {
  const { env } = ownSettings();
  const { url } = await openCompany({ client: { devices: false } });
  const refused = await place.spawned(['login', '--url', url], env);
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('Example has no device flow') });
  expect(refused.stderr).toContain('countersign tokens create');
  const unknown = await place.spawned(['login', '--url', url, '--issuer', 'other'], env);
  expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining('There is no issuer other') });
  const nowhere = await place.spawned(['login'], env);
  expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('Which server?') });
});

test('a person whom the company does not name gets no token', async () => {
  const { url } = await openCompany();
  const json = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const begun: any = await (await json('/login/device', {})).json();
  await confirmDevice({ address: begun.verification_uri, code: begun.user_code }, 'eve');
  const refused = await json('/login/device/token', { deviceCode: begun.device_code });
  expect(refused.status).toBe(403);
  expect(((await refused.json()) as any).detail).toContain('has not verified');
  expect((await json('/login/device/token', { deviceCode: 7 })).status).toBe(400);
  expect((await json('/login/device/token', { deviceCode: 'made up' })).status).toBe(403);
});

test('a stranger begins so many sign-ins, and guesses so many codes', async () => {
  const { url, state } = await openCompany();
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, wait: Number(response.headers.get('retry-after')), body: await response.json() };
  };
  const many = (path: string, body: object) => Promise.all(Array.from({ length: 80 }, () => post(path, body)));
  const [first] = await many('/login/device', {}).then((begun) => {
    expect(begun.filter(({ status }) => status === 200)).toHaveLength(60);
    return begun;
  });
  const { status, wait, body } = await post('/login/device', {});
  expect({ status, code: body.code }).toEqual({ status: 429, code: 'too-many-sign-ins' });
  expect(wait).toBeGreaterThan(500);
  expect(body.detail).toMatch(/from your network, or at this server\. Try again in 10 minutes/);
  // Who waits for their own code is not counted among those who guess.
  const own = { deviceCode: first.body.device_code };
  for (let times = 0; times < 150; times++)
    expect(await post('/login/device/token', own)).toMatchObject({ status: 202 });
  expect(await post('/login/device/token', own)).toMatchObject({ status: 429 });
  const guesses = await Promise.all(
    Array.from({ length: 80 }, (_, index) => post('/login/device/token', { deviceCode: `guess ${index}` })),
  );
  expect(guesses.filter((guess) => guess.status === 403)).toHaveLength(60);
  expect(guesses.filter((guess) => guess.status === 429)).toHaveLength(20);
  expect(state.grants).toEqual([]);
});
