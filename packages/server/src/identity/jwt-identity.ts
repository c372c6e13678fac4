// Identity from a JSON Web Token of another issuer.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { aFunction, aString, checkOptions, isStrings } from '../check-options.ts';
import { valuesAt } from '../sign-in/person-of-claims.ts';
import type { Identify } from './identify.ts';
import { type Identified, isRole, MOST_ROLES } from './person.ts';

export type JwtIdentityOptions = {
  /** The accepted issuer or issuers. */
  readonly issuer: string | readonly string[];
  /** The accepted audience or audiences. */
  readonly audience: string | readonly string[];
  /** The header with the token; `authorization` (as a bearer token) by default. */
  readonly header?: string;
  /**
   * The signed claim with the roles: its name, such as `groups`, or the path to it, such as `['realm_access', 'roles']`. Its
   * value is one role or a list; anything else means no roles. Roles that `person` returns come first.
   */
  readonly rolesClaim?: string | readonly string[];
  /** Makes the person from the claims; from `sub` and `name` by default. */
  readonly person?: (claims: JWTPayload) => Identified | null;
} & (
  | {
      /** The keys of the issuer: their address, or the keys themselves. */
      readonly jwks: string | JSONWebKeySet;
    }
  | {
      /** A secret shared with the issuer, of at least 32 bytes. */
      readonly secret: string;
    }
);

/** Never both kinds for one key: a public key must not be used as a shared secret. */
export const PUBLIC_KEYS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const SHARED_SECRETS = ['HS256', 'HS384', 'HS512'];

/**
 * Trusts a signed token of your login. It must have this audience and issuer, and must expire.
 * @example
 * const identify = jwtIdentity({ jwks: 'https://login.example.com/jwks.json', issuer: 'https://login.example.com', audience: 'approvals' });
 */
export function jwtIdentity(options: JwtIdentityOptions): Identify {
  checkOptions('jwtIdentity', JwtIdentityShape, options);
  const { header = 'authorization', person = ofClaims, rolesClaim } = options;
  const issuer = [options.issuer].flat();
  const audience = [options.audience].flat();
  const { key, algorithms } = keyOf(options);
  return async (request) => {
    const token = (request.headers.get(header) ?? '').replace(/^bearer +/i, '').trim();
    if (token === '') return null;
    try {
      const { payload } = await jwtVerify(token, key, {
        issuer,
        audience,
        algorithms,
        clockTolerance: 5,
        requiredClaims: ['exp', 'sub'],
      });
      const found = person(payload);
      return found && rolesClaim !== undefined ? { roles: rolesIn(payload, rolesClaim), ...found } : found;
    } catch {
      // An invalid token identifies no one.
      return null;
    }
  };
}

/** Without an issuer and an audience, tokens made for other services would be accepted. */
const names = z.custom((value) => {
  const list: unknown = [value].flat();
  return isStrings(list) && list.length > 0 && !list.includes('');
}, 'must be a string that is not empty, or an array of such strings');
const JwtIdentityShape = z.strictObject({
  issuer: names,
  audience: names,
  header: aString,
  rolesClaim: names.optional(),
  person: aFunction,
  jwks: z.any().optional(),
  secret: z.any().optional(),
});

function keyOf(options: JwtIdentityOptions): { readonly key: JWTVerifyGetKey; readonly algorithms: string[] } {
  if ('secret' in options) {
    const secret = new TextEncoder().encode(options.secret);
    if (secret.byteLength < 32)
      throw new UsageError('invalid-options', {}, 'The secret of jwtIdentity must have at least 32 bytes.');
    return { key: async () => secret, algorithms: SHARED_SECRETS };
  }
  const { jwks } = options;
  const key = typeof jwks === 'string' ? createRemoteJWKSet(new URL(jwks)) : createLocalJWKSet(jwks);
  return { key, algorithms: PUBLIC_KEYS };
}

/** Leaves out values that are not names of roles: a claim that is not understood gives nothing. */
const rolesIn = (claims: JWTPayload, path: string | readonly string[]): readonly string[] =>
  valuesAt(claims, [path].flat()).filter(isRole).slice(0, MOST_ROLES);

function ofClaims({ sub = '', name }: JWTPayload): Identified {
  return { id: sub, name: typeof name === 'string' ? name : null };
}
