// Browser sessions: a one-time link signs a person in, and a cookie keeps them signed in. Only hashes are stored.
import { createHash, randomBytes } from 'node:crypto';
import { type Json, UsageError } from 'countersign';
import { type Note, type Notes, refuseRemoved } from 'countersign/store';
import { serialize } from 'hono/utils/cookie';
import { allItems } from '../all-items.ts';
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
  await refuseRemoved(notes, person.id);
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
  // After: who is removed at this moment is found here, or their session is found there.
  try {
    await refuseRemoved(notes, (note.value as Identified).id);
    return secret;
  } catch (error) {
    await endSession(notes, secret);
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** Who signed a person in: the issuer, and how it names the person and the session there. */
export type SignedInBy = { readonly issuer: string; readonly sub: string; readonly sid?: string };

/** When an issuer has confirmed a person, and when it is asked again. */
export type Confirmation = {
  /** The name of the issuer in the settings. */
  readonly via: string;
  readonly at: number;
  readonly againAt: number;
  /** A process is asking. Until then the others wait for what it writes. */
  readonly askingUntil?: number;
  /** Sealed with the secret of the session or the token, which the store does not have. */
  readonly refreshToken?: string;
};

/** What sessions and tokens of a company's account have in common. */
export type FromIssuer = { readonly signedInBy: SignedInBy; readonly confirmation: Confirmation };

/** Asks the issuer again if it is time. Returns the note as it is now; undefined if the person is signed in no longer. */
export type Recheck = (
  of: { readonly collection: string; readonly person: string; readonly secret: string },
  note: Note,
) => Promise<Note | undefined>;

/** A session of the company's account. It ends at `endsAt`, or when it is not used for `idleMs`. */
export type CompanySession = FromIssuer & {
  /** Sealed with the secret of the session; the issuer ends its own session with it. */
  readonly idToken: string;
  readonly endsAt: number;
  readonly idleMs: number;
};

/** Starts the session of a person whom an issuer has named, and returns its secret. */
export async function startSession(
  notes: Notes,
  person: Omit<Identified, 'context'>,
  about: (secret: string) => CompanySession,
): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  const session = about(secret);
  const expiresAt = Math.min(session.endsAt, Date.now() + session.idleMs);
  await notes.put(SESSIONS, hashOf(secret), { ...person, ...session } as unknown as Json, { version: 0, expiresAt });
  return secret;
}

/** `isUse`: an idle session begins to wait anew. */
export async function personOfSession(
  notes: Notes,
  recheck: Recheck,
  secret: string,
  isUse = false,
): Promise<Person | undefined> {
  if (!SECRET.test(secret)) return undefined;
  const key = hashOf(secret);
  const found = await notes.get(SESSIONS, key);
  const person = (found?.value as Identified | undefined)?.id ?? '';
  const note = found && (await recheck({ collection: SESSIONS, person, secret }, found));
  if (!note) return undefined;
  const { endsAt = 0, idleMs = 0 } = note.value as Partial<CompanySession>;
  const expiresAt = Math.min(endsAt, Date.now() + idleMs);
  // Not at each request. A session that was ended meanwhile has no such version, and stays ended.
  if (isUse && expiresAt - (note.expiresAt ?? 0) > idleMs / 20)
    await notes.put(SESSIONS, key, note.value, { version: note.version, expiresAt });
  return personOf(note.value as Identified);
}

/** Removes the sign-in links of a person that were not used. Returns how many they were. */
export async function dropLoginTokens(notes: Notes, person: string): Promise<number> {
  let dropped = 0;
  for (const kind of ['login-links', 'login-links-mailed'] as const) {
    const all = await allItems((from) => notes.list(kind, { limit: 200, ...from }));
    const own = all.filter(({ value }) => (value as Identified).id === person);
    for (const { key } of own) if (await notes.remove(kind, key)) dropped += 1;
  }
  return dropped;
}

/** The session of the company's account that has this secret. */
export async function companySession(notes: Notes, secret: string): Promise<CompanySession | undefined> {
  const note = SECRET.test(secret) ? await notes.get(SESSIONS, hashOf(secret)) : undefined;
  const session = note?.value as CompanySession | undefined;
  return session?.signedInBy && session;
}

/** Ends the sessions that pass the test. Returns how many they were. */
export async function endSessions(
  notes: Notes,
  test: (session: { readonly id: string } & Partial<CompanySession>) => boolean,
): Promise<number> {
  const all = await allItems((from) => notes.list(SESSIONS, { limit: 200, ...from }));
  const ended = all.filter(({ value }) => test(value as { readonly id: string }));
  const removed = await Promise.all(ended.map(({ key }) => notes.remove(SESSIONS, key)));
  return removed.filter(Boolean).length;
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
export function setCookie({ name, secure }: SessionCookie, secret = '', lifetimeMs = SESSION_MS): string {
  const maxAge = secret === '' ? 0 : Math.floor(lifetimeMs / 1000);
  return serialize(name, secret, { path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge });
}

export function readCookie({ name }: SessionCookie, header: string | null): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** 256 random bits cannot be guessed, so a plain hash protects against readers of the store. */
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
