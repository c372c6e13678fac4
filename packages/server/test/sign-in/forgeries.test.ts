// Answers of an issuer that are forged, replayed or for somebody else sign nobody in.
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { expect, onTestFinished, test, vi } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../../scripts/free-port.mjs';
import { startServer } from '../server.ts';
import { CLIENT, listen, openBrowserOf, openCompany, openProvider } from './company.ts';

const isCallback = (url: string): boolean => url.includes('/login/callback/');

/** Signs in until the company sends the browser back. Returns the address that the browser would open. */
async function answered(url: string, browser = openBrowserOf(), account = 'ann', name = 'sso') {
  const { url: callback } = await browser.signIn(url, account, name, isCallback);
  expect(callback).toContain(`${url}/login/callback/${name}?`);
  return { browser, callback: new URL(callback) };
}

async function refused(browser: ReturnType<typeof openBrowserOf>, url: string, callback: URL, why: RegExp) {
  const page = await browser.go(callback.href);
  expect(page.status).toBe(403);
  expect(page.text).toMatch(why);
  expect(page.headers.getSetCookie()).toEqual([]);
  expect(await browser.me(url)).toBe(401);
}

const NOT_BEGUN = /not begun in this browser/;
const UNUSABLE = /could not be used/;

test('an answer with another state, or none, is refused', async () => {
  const { url } = await openCompany();
  const { browser, callback } = await answered(url);
  const forged = new URL(callback);
  forged.searchParams.set('state', 'A'.repeat(43));
  await refused(browser, url, forged, NOT_BEGUN);
  forged.searchParams.delete('state');
  await refused(browser, url, forged, NOT_BEGUN);
  expect((await browser.go(callback.href)).url).toBe(`${url}/`);
});

test('an answer that somebody else has got is refused in this browser', async () => {
  const { url } = await openCompany();
  const { callback } = await answered(url);
  const victim = openBrowserOf();
  await refused(victim, url, callback, NOT_BEGUN);
  // Also while the victim signs in.
  await answered(url, victim, 'ben');
  await refused(victim, url, callback, NOT_BEGUN);
});

test('an answer counts once, in the browser that got it', async () => {
  const { url } = await openCompany();
  const { browser, callback } = await answered(url);
  const cookies = browser.cookies().map(({ name, value }) => `${name}=${value}`);
  const replay = () => fetch(callback, { redirect: 'manual', headers: { cookie: cookies.join('; ') } });
  expect((await browser.go(callback.href)).url).toBe(`${url}/`);
  expect((await replay()).status).toBe(403);
});

test('of several answers at once, one counts at most', async () => {
  const rogue = await openRogue();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await startServer({ port, publicUrl: url, signIn: [{ issuer: rogue.issuer, ...CLIENT, insecure: true }] });
  const browser = openBrowserOf();
  const { url: callback } = await browser.go(`${url}/login/with/sso`, {}, isCallback);
  const cookies = browser.cookies().map(({ name, value }) => `${name}=${value}`);
  // This issuer takes a code again and again.
  const replay = () => fetch(callback, { redirect: 'manual', headers: { cookie: cookies.join('; ') } });
  const all = await Promise.all([replay(), replay(), replay()]);
  expect(all.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
});

test('an answer to another callback is refused', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [one, other] = [await openProvider(url, { name: 'one' }), await openProvider(url, { name: 'other' })];
  const common = { ...CLIENT, insecure: true, personClaim: 'sub' };
  const signIn = [
    { ...common, issuer: one.issuer, name: 'one' },
    { ...common, issuer: other.issuer, name: 'other' },
  ];
  await startServer({ port, publicUrl: url, signIn });
  const { browser, callback } = await answered(url, openBrowserOf(), 'ann', 'one');
  const moved = new URL(callback.href.replace('/callback/one', '/callback/other'));
  await refused(browser, url, moved, NOT_BEGUN);
  expect((await browser.go(callback.href)).url).toBe(`${url}/`);
  expect(await browser.me(url)).toMatchObject({ id: `${one.issuer}#ann` });
  const ofOther = openBrowserOf();
  await ofOther.signIn(url, 'ann', 'other');
  expect(await ofOther.me(url)).toMatchObject({ id: `${other.issuer}#ann` });
});

test('an answer that names another issuer is refused', async () => {
  const { url } = await openCompany();
  const { browser, callback } = await answered(url);
  callback.searchParams.set('iss', 'https://evil.example');
  await refused(browser, url, callback, UNUSABLE);
});

test('an answer that comes too late is refused', async () => {
  const { url } = await openCompany();
  const { browser, callback } = await answered(url);
  const now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now + 11 * 60_000);
  onTestFinished(() => void vi.restoreAllMocks());
  await refused(browser, url, callback, NOT_BEGUN);
});

test('a cancelled sign-in says so, and shows no text of the address', async () => {
  const { url } = await openCompany();
  const { browser, callback } = await answered(url);
  const { state, iss } = Object.fromEntries(callback.searchParams);
  callback.search = `${new URLSearchParams({ error: 'access_denied', error_description: 'Call 555', state: state ?? '', iss: iss ?? '' })}`;
  const page = await browser.go(callback.href);
  expect(page.text).toContain('was cancelled');
  expect(page.text).not.toContain('555');
});

/** An issuer whose ID tokens are as the test wants them. */
async function openRogue() {
  const own = await generateKeyPair('RS256');
  const stranger = await generateKeyPair('RS256');
  const key = { ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'RS256', use: 'sig' };
  let change: (claims: JWTPayload) => JWTPayload = (claims) => claims;
  let signer = own.privateKey;
  let nonce = '';
  const issuer = await listen((url) => async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const json = (value: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    if (pathname === '/.well-known/openid-configuration')
      return json({
        ...{
          issuer: url,
          authorization_endpoint: `${url}/auth`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
        },
        ...{ response_types_supported: ['code'], id_token_signing_alg_values_supported: ['RS256'] },
      });
    if (pathname === '/keys') return json({ keys: [key] });
    if (pathname === '/auth') {
      nonce = searchParams.get('nonce') ?? '';
      const back = new URLSearchParams({ code: 'a-code', state: searchParams.get('state') ?? '' });
      return response.writeHead(302, { location: `${searchParams.get('redirect_uri')}?${back}` }).end();
    }
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: CLIENT.clientId, sub: 'ann', nonce, iat: now, exp: now + 60 };
    const idToken = await new SignJWT(change({ ...claims, email: 'ann@example.com', email_verified: true }))
      .setProtectedHeader({ alg: 'RS256', kid: 'own' })
      .sign(signer);
    return json({ access_token: 'x', token_type: 'bearer', id_token: idToken });
  });
  return {
    issuer,
    says: (changed: typeof change, key: 'own' | 'stranger' = 'own') => {
      change = changed;
      signer = key === 'own' ? own.privateKey : stranger.privateKey;
    },
  };
}

const past = Math.floor(Date.now() / 1000) - 3_600;
const FORGERIES: readonly [what: string, change: (claims: JWTPayload) => JWTPayload, key?: 'stranger'][] = [
  ['signed with another key', (claims) => claims, 'stranger'],
  ['with another nonce', (claims) => ({ ...claims, nonce: 'another' })],
  ['without a nonce', ({ nonce: _nonce, ...claims }) => claims],
  ['of another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
  ['for another client', (claims) => ({ ...claims, aud: 'another' })],
  ['that has expired', (claims) => ({ ...claims, iat: past, exp: past + 60 })],
  ['without a subject', ({ sub: _sub, ...claims }) => claims],
  ['whose address is verified only in words', (claims) => ({ ...claims, email_verified: 'true' })],
  ['whose address is a list', (claims) => ({ ...claims, email: ['ann@example.com'] })],
];

test('a forged ID token is refused', async () => {
  const rogue = await openRogue();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await startServer({ port, publicUrl: url, signIn: [{ issuer: rogue.issuer, ...CLIENT, insecure: true }] });
  for (const [what, change, key] of FORGERIES) {
    rogue.says(change, key);
    const browser = openBrowserOf();
    const page = await browser.go(`${url}/login/with/sso`);
    expect([what, page.status, await browser.me(url)]).toEqual([what, 403, 401]);
  }
  rogue.says((claims) => claims);
  const browser = openBrowserOf();
  await browser.go(`${url}/login/with/sso`);
  expect(await browser.me(url)).toMatchObject({ id: 'ann@example.com' });
});

test('an issuer that cannot be reached signs nobody in, and is asked again later', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await startServer({ port, publicUrl: url, signIn: [{ issuer: 'http://127.0.0.1:9', ...CLIENT, insecure: true }] });
  const page = await openBrowserOf().go(`${url}/login/with/sso`);
  expect(page).toMatchObject({ status: 403, text: expect.stringMatching(UNUSABLE) });
  expect((await openBrowserOf().go(`${url}/login/with/other`)).status).toBe(404);
});
