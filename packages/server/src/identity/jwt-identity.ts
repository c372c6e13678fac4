// Identity from a JSON Web Token that somebody else has issued.
import { UsageError } from 'countersign';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { refuseUnknownKeys } from '../known-keys.ts';
import type { Identify } from './identify.ts';
import type { Identified } from './person.ts';

export type JwtIdentityOptions = {
  /** Who must have issued the token: one, or one of several. */
  readonly issuer: string | readonly string[];
  /** Whom it must be for: one, or one of several. */
  readonly audience: string | readonly string[];
  /** Where the token stands; `authorization` (as a bearer token) unless given. */
  readonly header?: string;
  /** What is known of the person; the claims `sub` and `name` unless given. */
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

/** Never both kinds for one key: a public key must not be taken for a shared secret. */
const PUBLIC_KEYS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const SHARED_SECRETS = ['HS256', 'HS384', 'HS512'];

/**
 * Believes a signed token of your login. It must be for this audience, from this issuer, and must expire.
 * @example
 * const identify = jwtIdentity({ jwks: 'https://login.example.com/jwks.json', issuer: 'https://login.example.com', audience: 'approvals' });
 */
export function jwtIdentity(options: JwtIdentityOptions): Identify {
  refuseUnknownKeys('jwtIdentity', options, KEYS);
  const { header = 'authorization', person = ofClaims } = options;
  const issuer = textsOf('issuer', options.issuer);
  const audience = textsOf('audience', options.audience);
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
      return person(payload);
    } catch {
      // Whatever is wrong with it, nobody is known by it.
      return null;
    }
  };
}

const KEYS = ['issuer', 'audience', 'header', 'person', 'jwks', 'secret'];

/** Without them, tokens that were made for others would count, since nothing would be compared. */
function textsOf(option: string, given: unknown): string[] {
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')) return texts as string[];
  const message = `\`${option}\` of jwtIdentity must be a text that is not empty, or a list of such.`;
  throw new UsageError('invalid-options', { option }, message);
}

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

function ofClaims({ sub = '', name }: JWTPayload): Identified {
  return { id: sub, name: typeof name === 'string' ? name : null };
}
