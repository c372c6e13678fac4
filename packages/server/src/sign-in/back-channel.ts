// Back-channel logout: the issuer says that a session, or all sessions of an account, has ended.
import { createHash } from 'node:crypto';
import { UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { createRemoteJWKSet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { defined } from '../defined.ts';
import { PUBLIC_KEYS } from '../identity/jwt-identity.ts';
import { endSessions, type SignedInBy } from '../identity/sessions.ts';
import { revokeTokens } from '../identity/tokens.ts';
import { isRecord } from '../is-record.ts';
import type { Log } from '../log.ts';
import { rememberSignOut } from './known-subjects.ts';
import type { Provider } from './provider.ts';

/** Ends what the logout token names. Throws a UsageError if the token is not valid. */
export type BackChannel = (provider: Provider, token: string) => Promise<void>;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const USED = 'logout-tokens';
const OLDEST_S = 300;

export function createBackChannel(notes: Notes, log: Log): BackChannel {
  const keys = new Map<string, JWTVerifyGetKey>();
  const keysOf = async (provider: Provider): Promise<JWTVerifyGetKey> => {
    const url = await provider.keysUrl();
    const known = keys.get(url) ?? createRemoteJWKSet(new URL(url));
    keys.set(url, known);
    return known;
  };
  return async (provider, token) => {
    const { sub, sid, jti, iat } = await checked(token, provider, await keysOf(provider));
    const { issuer } = provider.issuer;
    const key = createHash('sha256')
      .update(JSON.stringify([issuer, jti]))
      .digest('hex');
    if (await notes.get(USED, key)) throw invalid('it was used before');
    // First: a sign-in that is under way finds it, or its session is found below.
    await rememberSignOut(notes, { issuer, ...defined({ sub, sid }) }, iat);
    const isMeant = ({ signedInBy: by }: { readonly signedInBy?: SignedInBy }): boolean =>
      by?.issuer === issuer && (sub === undefined || by.sub === sub) && (sid === undefined || (by.sid ?? sid) === sid);
    // Without a subject, only the session itself is meant.
    const isNamed = (one: { readonly signedInBy?: SignedInBy }) =>
      isMeant(one) && (sub !== undefined || one.signedInBy?.sid === sid);
    const sessions = await endSessions(notes, isNamed);
    const tokens = await revokeTokens(notes, isNamed);
    // Last: after a failure in between, the issuer may send it again.
    await notes.put(USED, key, true, { expiresAt: Date.now() + 4 * OLDEST_S * 1000 });
    log('info', 'sign-out', { message: `${provider.issuer.name} ended ${sessions} sessions and ${tokens} tokens.` });
  };
}

type LogoutToken = { readonly sub?: string; readonly sid?: string; readonly jti: string; readonly iat: number };

async function checked(token: string, { issuer }: Provider, keys: JWTVerifyGetKey): Promise<LogoutToken> {
  const claims = await verified(token, keys, { issuer: issuer.issuer, audience: issuer.clientId });
  const { events, sub, sid, jti, iat = 0 } = claims;
  if (!isRecord(events) || !isRecord(events[EVENT])) throw invalid('it is not about a logout');
  if ('nonce' in claims) throw invalid('it is an ID token');
  if (typeof jti !== 'string' || jti === '') throw invalid('it has no `jti`');
  const [subject, session] = [sub, sid].map((one) => (typeof one === 'string' && one !== '' ? one : undefined));
  if (subject === undefined && session === undefined) throw invalid('it names neither a person nor a session');
  return { jti, iat, ...defined({ sub: subject, sid: session }) };
}

async function verified(
  token: string,
  keys: JWTVerifyGetKey,
  expected: { readonly issuer: string; readonly audience: string },
): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      ...expected,
      algorithms: PUBLIC_KEYS,
      clockTolerance: 5,
      maxTokenAge: OLDEST_S,
    });
    const { typ = 'logout+jwt' } = protectedHeader;
    if (!['logout+jwt', 'jwt'].includes(typ.toLowerCase())) throw new Error(`its type is ${typ}`);
    return payload;
  } catch (error) {
    throw invalid((error as Error).message.replace(/\.$/, ''));
  }
}

const invalid = (why: string): UsageError =>
  new UsageError('invalid-request', { status: 400 }, `The logout token is not valid: ${why}.`);
