// Browser sessions: a one-time link signs a person in, and a cookie keeps them signed in. Only hashes are stored.
import { createHash, randomBytes } from 'node:crypto';
import { type Json, UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { serialize } from 'hono/utils/cookie';
import { defined } from '../defined.ts';
import { checkIdentified, type Identified, isPersonId, type Person, personOf } from './person.ts';

/** Links that people pass on by hand work when they are opened; links in mails only through the page with a button. */
type LinkKind = 'login-links' | 'login-links-mailed';

const SESSIONS = 'sessions';
const LINK_MS = 10 * 60_000;
const SESSION_MS = 7 * 24 * 3_600_000;
const SECRET = /^[\w-]{43}$/;

/** Makes the token of a sign-in link, valid once and for ten minutes. */
export async function createLoginToken(
  notes: Notes,
  person: Omit<Identified, 'context'>,
  kind: LinkKind = 'login-links',
): Promise<string> {
  checkIdentified('loginPath', person);
  if (!isPersonId(person.id))
    throw new UsageError('invalid-options', {}, '`id` of loginPath must be a string of 1 to 200 characters.');
  const { id, name, scopes, reach, roles } = person;
  const kept = defined({ id, name, scopes, reach, roles }) as Json;
  const token = randomBytes(32).toString('base64url');
  await notes.put(kind, hashOf(token), kept, { version: 0, expiresAt: Date.now() + LINK_MS });
  return token;
}

/** The path of the link with this token. */
export const loginPath = (basePath: string, token: string, to?: string): string =>
  `${basePath}/login?token=${token}${to === undefined ? '' : `&to=${encodeURIComponent(to)}`}`;

/** Whether the token still signs someone in. */
export async function isLoginOpen(notes: Notes, token: string): Promise<boolean> {
  return (await notes.get('login-links', hashOf(token))) !== undefined;
}

/** The person whom the token signs in; undefined if it is invalid or expired. */
export async function personOfLogin(
  notes: Notes,
  token: string,
  kind: LinkKind = 'login-links',
): Promise<Person | undefined> {
  const note = SECRET.test(token) ? await notes.get(kind, hashOf(token)) : undefined;
  return note && personOf(note.value as Identified);
}

/** Uses up a sign-in token and returns the secret of a new session; undefined if the token is invalid or expired. */
export async function takeLogin(
  notes: Notes,
  token: string,
  kind: LinkKind = 'login-links',
): Promise<string | undefined> {
  if (!SECRET.test(token)) return undefined;
  const key = hashOf(token);
  const note = await notes.get(kind, key);
  // Of several requests with one link, only the one that removes it signs in.
  if (!note || !(await notes.remove(kind, key))) return undefined;
  const secret = randomBytes(32).toString('base64url');
  await notes.put(SESSIONS, hashOf(secret), note.value, { version: 0, expiresAt: Date.now() + SESSION_MS });
  return secret;
}

export async function personOfSession(notes: Notes, secret: string): Promise<Person | undefined> {
  if (!SECRET.test(secret)) return undefined;
  const note = await notes.get(SESSIONS, hashOf(secret));
  return note && personOf(note.value as Identified);
}

/** The key under which the session of these cookies is stored. */
export function sessionKeyOf(cookie: SessionCookie, header: string | null): string | undefined {
  const secret = readCookie(cookie, header);
  return secret !== undefined && SECRET.test(secret) ? hashOf(secret) : undefined;
}

/** Which of these sessions have neither ended nor expired. */
export async function openSessions(notes: Notes, keys: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await notes.getMany(SESSIONS, keys)).map(({ key }) => key));
}

export async function endSession(notes: Notes, secret: string): Promise<void> {
  if (SECRET.test(secret)) await notes.remove(SESSIONS, hashOf(secret));
}

/** The session cookie. Servers on one machine share their cookies, so the port is in the name. */
export type SessionCookie = { readonly name: string; readonly secure: boolean };

export function sessionCookie(publicUrl: URL): SessionCookie {
  const secure = publicUrl.protocol === 'https:';
  return { name: secure ? '__Host-countersign' : `countersign-${publicUrl.port || '80'}`, secure };
}

/** The `Set-Cookie` header; without a secret it deletes the cookie. */
export function setCookie({ name, secure }: SessionCookie, secret = ''): string {
  const maxAge = secret === '' ? 0 : SESSION_MS / 1000;
  return serialize(name, secret, { path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge });
}

export function readCookie({ name }: SessionCookie, header: string | null): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** 256 random bits cannot be guessed, so a plain hash protects against readers of the store. */
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
