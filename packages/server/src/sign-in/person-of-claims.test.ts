// Who the claims of each provider of the guide name, with the settings of the guide.
import { expect, test } from 'vitest';
import { checkedIssuers, type SignInIssuer } from './issuers.ts';
import { type Claims, personOfClaims } from './person-of-claims.ts';

const person = (settings: Omit<SignInIssuer, 'clientId'>, idToken: Claims, info?: Claims) => {
  const [issuer] = checkedIssuers([{ clientId: 'id', ...settings }]);
  if (!issuer) throw new Error('There is no issuer.');
  return personOfClaims(issuer, { sub: 's1', ...idToken }, info);
};

const MAIL = { email: 'Ann@Example.com', email_verified: true };

test('Google: the mail address, if the account belongs to the organisation', () => {
  const google = { issuer: 'https://accounts.google.com', domains: ['example.com'] };
  expect(person(google, { ...MAIL, hd: 'example.com', name: 'Ann' })).toEqual({
    ...{ id: 'ann@example.com', name: 'Ann', roles: [], reach: 'own' },
  });
  // An account that somebody made with their address at work, and one of another organisation.
  for (const hd of [undefined, 'example.org', 7]) expect(() => person(google, { ...MAIL, hd })).toThrow(/this domain/);
  expect(() => person(google, { ...MAIL, email: 'ann@gmail.com', hd: 'example.com' })).toThrow(/this domain/);
});

test('Okta: groups of the ID token, which win over what is beside it', () => {
  const okta = {
    issuer: 'https://example.okta.com',
    roles: { 'Payment approvers': 'finance', Leads: ['finance', 'lead'] },
    all: ['Platform team'],
  };
  expect(person(okta, { ...MAIL, groups: ['Leads', 'Others'] }, { groups: ['Platform team'] })).toMatchObject({
    ...{ roles: ['finance', 'lead'], reach: 'own' },
  });
  expect(person(okta, MAIL, { groups: ['Platform team', 'toString'] })).toMatchObject({ roles: [], reach: 'all' });
  expect(person(okta, MAIL)).toMatchObject({ roles: [], reach: 'own' });
});

test('Entra ID: a name that administrators control, and app roles', () => {
  const entra = {
    issuer: 'https://login.microsoftonline.com/tenant/v2.0',
    ...{ personClaim: 'preferred_username', rolesClaim: 'roles' },
  };
  const claims = { preferred_username: 'Ann@example.com', email: 'anyone@example.com', roles: ['finance', 7, 'a,b'] };
  expect(person(entra, claims)).toMatchObject({ id: 'ann@example.com', roles: ['finance'] });
  expect(() => person(entra, { email: 'ann@example.com' })).toThrow(/names nobody/);
  // It would be the name of an account without a mail address.
  expect(() => person(entra, { preferred_username: 'https://x.example#s1' })).toThrow(/names nobody/);
});

test('Keycloak: roles at a path', () => {
  const keycloak = { issuer: 'https://id.example.com/realms/work', rolesClaim: ['realm_access', 'roles'] };
  expect(person(keycloak, { ...MAIL, realm_access: { roles: ['finance'] } })).toMatchObject({ roles: ['finance'] });
  for (const realm_access of [undefined, null, 'finance', { roles: { finance: true } }])
    expect(person(keycloak, { ...MAIL, realm_access })).toMatchObject({ roles: [] });
});

test('an address is verified by the answer that has it', () => {
  const any = { issuer: 'https://id.example.com' };
  const [id, verified] = [{ email: 'ann@example.com' }, { email_verified: true }];
  expect(person(any, {}, { ...id, ...verified })).toMatchObject({ id: 'ann@example.com' });
  expect(() => person(any, id, verified)).toThrow(/not verified/);
  expect(() => person(any, verified, id)).toThrow(/not verified/);
});
