// The settings of issuers: what is wrong or unsafe is refused where it is written.
import { createApp, type ServeOptions } from '@countersign/server';
import { countersign, memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import { signInFromEnvironment } from '../../src/sign-in/from-environment.ts';

type Issuers = NonNullable<ServeOptions['signIn']>;
const OKTA = { issuer: 'https://example.okta.com', clientId: 'id', clientSecret: 'secret' };
const GOOGLE = { ...OKTA, issuer: 'https://accounts.google.com', name: 'google' };

const open = (signIn: Issuers, options: ServeOptions = { publicUrl: 'https://approvals.example.com' }) => {
  const app = createApp(countersign({ store: memoryStore() }), { inboxDir: false, signIn, ...options });
  app.close();
  app.end();
};

test.each<[why: RegExp, signIn: unknown]>([
  [/`issuer` of `signIn` must be a URL/, [{ ...OKTA, issuer: 'okta' }]],
  [/`clientId` of `signIn` must be a string/, [{ ...OKTA, clientId: undefined }]],
  [/has no option clientID/, [{ ...OKTA, clientID: 'id' }]],
  [/must be https/, [{ ...OKTA, issuer: 'http://example.okta.com', insecure: true }]],
  [/must be https/, [{ ...OKTA, issuer: 'http://127.0.0.1:4000' }]],
  [/must not have a query/, [{ ...OKTA, issuer: 'https://example.okta.com?x=1' }]],
  [/`roles` of `signIn`/, [{ ...OKTA, roles: { Payments: 'finance,boss' } }]],
  [/`domains` of `signIn`/, [{ ...OKTA, domains: ['ann@example.com'] }]],
  [/`name` of `signIn`/, [{ ...OKTA, name: 'a/b' }]],
  [/`sessionMs` of `signIn`/, [{ ...OKTA, sessionMs: 0 }]],
  [/Anyone can have an account at Google/, [{ ...GOOGLE }]],
  [/Two issuers have the name sso/, [OKTA, { ...OKTA, issuer: 'https://other.okta.com' }]],
  [/could name the same person/, [OKTA, { ...GOOGLE, domains: ['example.com'] }]],
  [
    /could name the same person/,
    [
      { ...OKTA, domains: ['Example.com'] },
      { ...GOOGLE, domains: ['example.com'] },
    ],
  ],
  [
    /could name the same person/,
    [
      { ...OKTA, samePeople: true },
      { ...GOOGLE, domains: ['example.com'] },
    ],
  ],
  [/must be an array of issuers/, OKTA],
])('%s', (why, signIn) => {
  expect(() => open(signIn as Issuers)).toThrow(why);
});

test('issuers that cannot name the same person, or may, are allowed', () => {
  open([
    { ...OKTA, domains: ['example.com'] },
    { ...GOOGLE, domains: ['example.org'] },
  ]);
  open([
    { ...OKTA, samePeople: true },
    { ...GOOGLE, domains: ['example.com'], samePeople: true },
  ]);
  open([OKTA, { ...OKTA, issuer: 'https://other.okta.com', name: 'other', personClaim: 'sub' }]);
});

test('a server that others reach needs its public address', () => {
  expect(() => open([OKTA], {})).toThrow(/`signIn` needs `publicUrl`/);
  open([OKTA], { hosts: 'loopback' });
});

test('the environment can name one issuer', () => {
  expect(signInFromEnvironment({ HOME: '/home/ann', COUNTERSIGN_OIDC_ISSUER: '' })).toEqual([]);
  const env = {
    COUNTERSIGN_OIDC_ISSUER: OKTA.issuer,
    COUNTERSIGN_OIDC_CLIENT_ID: 'id',
    COUNTERSIGN_OIDC_CLIENT_SECRET: 'secret',
    COUNTERSIGN_OIDC_ROLES: 'Payments = finance, Leads=boss, Leads=finance',
    COUNTERSIGN_OIDC_DOMAINS: 'example.com,example.org',
    COUNTERSIGN_OIDC_INSECURE: 'false',
    COUNTERSIGN_OIDC_SESSION_MS: '60000',
  };
  const roles = { Payments: ['finance'], Leads: ['boss', 'finance'] };
  const domains = ['example.com', 'example.org'];
  expect(signInFromEnvironment(env)).toEqual([{ ...OKTA, roles, domains, insecure: false, sessionMs: 60_000 }]);
  open(signInFromEnvironment(env));
});

test.each<[why: RegExp, env: Record<string, string>]>([
  [/so COUNTERSIGN_OIDC_CLIENT_ID must be set/, { COUNTERSIGN_OIDC_ISSUER: 'https://x.example' }],
  [/COUNTERSIGN_OIDC_ROLE is unknown/, { COUNTERSIGN_OIDC_ROLE: 'a=b' }],
  [
    /must be pairs such as/,
    { COUNTERSIGN_OIDC_ISSUER: 'x', COUNTERSIGN_OIDC_CLIENT_ID: 'x', COUNTERSIGN_OIDC_ROLES: 'a' },
  ],
  [
    /must be true or false/,
    { COUNTERSIGN_OIDC_ISSUER: 'x', COUNTERSIGN_OIDC_CLIENT_ID: 'x', COUNTERSIGN_OIDC_INSECURE: '1' },
  ],
])('%s', (why, env) => {
  expect(() => signInFromEnvironment(env)).toThrow(why);
});
