// Back-channel logout: the company ends sessions here, with tokens that nobody else can make or send again.
import { generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { expect, test, vi } from 'vitest';
import { CLIENT, listen, openBrowserOf, openCompany } from './company.ts';

test('a person who signs out at the company is signed out here', async () => {
  const { url, issuer } = await openCompany();
  const [ann, ben] = [openBrowserOf(), openBrowserOf()];
  await ann.signIn(url, 'ann');
  await ben.signIn(url, 'ben');
  const page = await ann.go(`${issuer}/session/end`);
  await ann.send(page, { logout: 'yes' });
  await vi.waitFor(async () => expect(await ann.me(url)).toBe(401), 5_000);
  expect(await ben.me(url)).toMatchObject({ id: 'ben@example.com' });
});

test('one session of a person ends, or all of them', async () => {
  const { url, provider } = await openCompany({ client: { backchannel_logout_session_required: false } });
  const browsers = [openBrowserOf(), openBrowserOf()];
  for (const browser of browsers) await browser.signIn(url, 'ann');
  const client = await provider.Client.find(CLIENT.clientId);
  await client.backchannelLogout('ann');
  for (const browser of browsers) expect(await browser.me(url)).toBe(401);
});

/** An issuer whose logout tokens are as the test wants them. Its one person has a session here. */
async function openForger() {
  const { exportJWK } = await import('jose');
  const [own, stranger] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')];
  const key = { ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'RS256', use: 'sig' };
  const sign = (claims: JWTPayload, header: object = {}, signer = own.privateKey) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'own', ...header }).sign(signer);
  const issuer = await listen((url) => async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const json = (value: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    if (pathname === '/keys') return json({ keys: [key] });
    if (pathname === '/auth') {
      const back = { code: `${searchParams.get('nonce')}`, state: searchParams.get('state') ?? '' };
      return response
        .writeHead(302, { location: `${searchParams.get('redirect_uri')}?${new URLSearchParams(back)}` })
        .end();
    }
    if (pathname === '/token') {
      let body = '';
      for await (const chunk of request) body += chunk;
      const [iat, nonce] = [Math.floor(Date.now() / 1000), new URLSearchParams(body).get('code') ?? ''];
      const claims = { iss: url, aud: CLIENT.clientId, sub: 'ann', sid: 's1', nonce, iat, exp: iat + 60 };
      return json({ access_token: 'x', token_type: 'bearer', id_token: await sign(claims) });
    }
    return json({
      ...{
        issuer: url,
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
      },
      ...{ response_types_supported: ['code'], id_token_signing_alg_values_supported: ['RS256'] },
    });
  });
  const { url } = await openCompany({ company: { issuer } });
  let ids = 0;
  const logout = (changed: JWTPayload = {}): JWTPayload => {
    const iat = Math.floor(Date.now() / 1000);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    return {
      iss: issuer,
      aud: CLIENT.clientId,
      sub: 'ann',
      jti: `id-${ids++}`,
      iat,
      exp: iat + 60,
      events,
      ...changed,
    };
  };
  const send = async (token: string) => {
    const body = new URLSearchParams({ logout_token: token });
    return (await fetch(`${url}/login/back-channel/sso`, { method: 'POST', body })).status;
  };
  const signedIn = async () => {
    const browser = openBrowserOf();
    await browser.go(`${url}/login/with/sso`);
    expect(await browser.me(url)).toMatchObject({ id: `${issuer}#ann` });
    return browser;
  };
  return { url, issuer, sign, logout, send, signedIn, stranger: stranger.privateKey };
}

test('a forged logout token ends nothing', async () => {
  const { url, sign, logout, send, signedIn, stranger } = await openForger();
  const browser = await signedIn();
  const past = Math.floor(Date.now() / 1000) - 3_600;
  const forgeries: readonly [what: string, token: string | Promise<string>][] = [
    ['no token', ''],
    ['another key', sign(logout(), {}, stranger)],
    ['without a signature', `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(logout()))}.`],
    ['another issuer', sign(logout({ iss: 'https://evil.example' }))],
    ['another client', sign(logout({ aud: 'another' }))],
    ['no event', sign(logout({ events: {} }))],
    ['another event', sign(logout({ events: { 'https://example.com/event': {} } }))],
    ['no jti', sign(logout({ jti: undefined as never }))],
    ['too old', sign(logout({ iat: past, exp: past + 7_200 }))],
    ['expired', sign(logout({ exp: past }))],
    ['no time', sign(logout({ iat: undefined as never }))],
    ['nobody', sign(logout({ sub: undefined as never }))],
    ['an ID token', sign(logout({ nonce: 'n' }))],
    ['an access token', sign(logout(), { typ: 'at+jwt' })],
  ];
  for (const [what, token] of forgeries) expect([what, await send(await token)]).toEqual([what, 400]);
  expect(await send(await sign(logout({ sub: 'ben' })))).toBe(200);
  expect(await send(await sign(logout({ sid: 's2' })))).toBe(200);
  expect(await browser.me(url)).toMatchObject({ name: null });
  expect(await send(await sign(logout({ sid: 's1', sub: undefined as never }), { typ: 'logout+jwt' }))).toBe(200);
  expect(await browser.me(url)).toBe(401);
});

test('a logout token counts once', async () => {
  const { url, sign, logout, send, signedIn } = await openForger();
  const first = await signedIn();
  const token = await sign(logout({ iat: Math.floor(Date.now() / 1000) - 5 }));
  expect(await send(token)).toBe(200);
  expect(await first.me(url)).toBe(401);
  const second = await signedIn();
  expect(await send(token)).toBe(400);
  expect(await second.me(url)).toMatchObject({ scopes: ['start', 'read', 'decide'] });
});

test('a sign-in that was under way when the company ended it signs nobody in', async () => {
  const { url, sign, logout, send } = await openForger();
  const browser = openBrowserOf();
  expect(await send(await sign(logout({ iat: Math.floor(Date.now() / 1000) + 4 })))).toBe(200);
  const page = await browser.go(`${url}/login/with/sso`);
  expect(page).toMatchObject({ status: 403, text: expect.stringContaining('signed you out meanwhile') });
  expect(await browser.me(url)).toBe(401);
});
