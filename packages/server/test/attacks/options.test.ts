// Options that protect: misspelt or of another shape, they are refused when the server is made, and open nothing.
import { headerIdentity, jwtIdentity } from '@countersign/server';
import { describe, expect, test } from 'vitest';

const refused = (message: string) =>
  expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining(message) });

describe('identities', () => {
  const whole = { secret: 's'.repeat(32), issuer: 'https://login.example', audience: 'approvals' };

  test.each([
    [{ audience: undefined }, '`audience` of jwtIdentity must be a text that is not empty, or a list of such.'],
    [{ audience: '' }, '`audience` of jwtIdentity'],
    [{ audience: [] }, '`audience` of jwtIdentity'],
    [{ audience: ['approvals', ''] }, '`audience` of jwtIdentity'],
    [{ issuer: undefined }, '`issuer` of jwtIdentity'],
    [{ audiences: 'approvals' }, 'jwtIdentity takes no audiences. The nearest it takes: audience.'],
  ])('jwtIdentity refuses %o', (options, message) => {
    expect(() => jwtIdentity({ ...whole, ...options } as never)).toThrow(refused(message));
  });

  test('jwtIdentity takes several issuers and audiences', () => {
    expect(
      jwtIdentity({ ...whole, issuer: ['https://a.example', 'https://b.example'], audience: ['a'] }),
    ).toBeDefined();
  });

  test('headerIdentity refuses what it does not know', () => {
    const misspelt = { header: 'x-user', trustedProxy: ['127.0.0.1'] };
    expect(() => headerIdentity(misspelt as never)).toThrow(refused('headerIdentity takes no trustedProxy.'));
  });
});
