// `countersign serve` with issuers in the settings of a project, or in the environment.
import { writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { workplaceForEach } from '../cli/workplace.ts';

vi.setConfig({ testTimeout: 60_000 });
const place = workplaceForEach();
const OKTA = { issuer: 'https://example.okta.com', clientId: 'id', clientSecret: 'secret', label: 'Okta <1>' };

const configured = (signIn: unknown) => {
  const text = `export default { signIn: ${JSON.stringify(signIn)} };`;
  writeFileSync(place.path('countersign.config.ts'), text);
};
const serve = ['serve', '--port', '0'];

test('the sign-in page has the issuers of the settings and of the environment', async () => {
  configured([{ ...OKTA, domains: ['example.com'] }]);
  const env = {
    COUNTERSIGN_OIDC_ISSUER: 'https://accounts.google.com',
    COUNTERSIGN_OIDC_CLIENT_ID: 'id',
    COUNTERSIGN_OIDC_NAME: 'google',
    COUNTERSIGN_OIDC_DOMAINS: 'example.org',
  };
  const server = place.begin(serve, env);
  const [, url = ''] = await server.says(/ at (http:\S+)\. Press/);
  await server.says(/account of your organisation\s+http\S+\/login/);
  const page = await (await fetch(`${url}/login`)).text();
  expect(page).toContain('href="/login/with/sso">Sign in with Okta &lt;1&gt;</a>');
  expect(page).toContain('href="/login/with/google">Sign in with accounts.google.com</a>');
});

test('what is wrong is said before the server starts', async () => {
  configured([{ ...OKTA, clientID: 'id' }]);
  const misspelt = await place.spawned(serve);
  expect(misspelt).toMatchObject({ code: 1, stderr: expect.stringContaining('`signIn` has no option clientID') });
  configured([OKTA]);
  const variable = await place.spawned(serve, { COUNTERSIGN_OIDC_ISSUERS: 'x' });
  expect(variable).toMatchObject({ code: 2, stderr: expect.stringContaining('COUNTERSIGN_OIDC_ISSUERS is unknown') });
  const open = await place.spawned([...serve, '--host', '0.0.0.0']);
  expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('`signIn` needs `publicUrl`') });
});
