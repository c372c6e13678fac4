// API tokens: shown once when made; only their hashes are stored.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { type Json, UsageError } from 'countersign';
import { type Note, type Notes, refuseRemoved } from 'countersign/store';
import { allItems } from '../all-items.ts';
import { checkOptions, option, optionsOf } from '../check-options.ts';
import { isPersonId, type Person, type Reach, RIGHTS, SCOPES, type Scope } from './person.ts';
import type { FromIssuer, Recheck, SignedInBy } from './sessions.ts';

/** The stored record of a token, without the token itself: its id, purpose, owner and rights. */
export type TokenRecord = {
  readonly id: string;
  readonly label: string;
  readonly person: string;
  readonly scopes: readonly Scope[];
  readonly reach: Reach;
  readonly roles: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** On a token of `countersign login`: who has signed the person in. */
  readonly signedInBy?: SignedInBy;
};

/** Tokens that were made before there were roles have none. */
type StoredToken = Omit<TokenRecord, 'roles'> &
  Partial<FromIssuer> & { readonly roles?: readonly string[]; readonly hash: string };

type MadeToken = { readonly token: string; readonly record: TokenRecord };

/** The options of a new token. */
export type NewToken = {
  /** The person or program that uses it: recorded as `startedBy` and `by`. Compared byte for byte with other ids. */
  readonly person: string;
  /** Its purpose; the person by default. */
  readonly label?: string;
  /** All by default. */
  readonly scopes?: readonly Scope[];
  /** The runs that it sees; the person's own by default. */
  readonly reach?: Reach;
  /** The roles that its decisions count for; none by default. */
  readonly roles?: readonly string[];
  /** It never expires by default. */
  readonly expiresInMs?: number;
};

const NewTokenShape = optionsOf<NewToken>({
  person: z.custom(isPersonId, 'must be a string of 1 to 200 characters'),
  label: option(
    (value) => typeof value === 'string' && value.length <= 200,
    'must be a string of at most 200 characters',
  ),
  ...RIGHTS,
  expiresInMs: option(
    (value) => Number.isFinite(value) && Number(value) > 0,
    'must be a number of milliseconds above 0',
  ),
});
const COLLECTION = 'tokens';
/** The id is public; the 256 random bits after it are the secret. */
const TOKEN = /^cs_([0-9a-f]{16})_([\w-]{43})$/;

/**
 * Makes a token. It is returned once and cannot be read again.
 * @example
 * const { token } = await createToken(ai.runs.notes, { person: 'alice', scopes: ['read', 'decide'] });
 */
export async function createToken(notes: Notes, options: NewToken): Promise<MadeToken> {
  return makeToken(notes, options, () => undefined);
}

/** Makes a token for a person whom an issuer has named. */
export async function makeToken(
  notes: Notes,
  options: NewToken,
  from: (token: string) => FromIssuer | undefined,
): Promise<MadeToken> {
  checkOptions('createToken', NewTokenShape, options);
  const { person, label = person, scopes = SCOPES, reach = 'own', roles = [], expiresInMs } = options;
  if (scopes.length === 0)
    throw new UsageError('invalid-options', {}, `\`scopes\` must be some of ${SCOPES.join(', ')}, not none.`);
  await refuseRemoved(notes, person);
  const createdAt = Date.now();
  const id = randomBytes(8).toString('hex');
  const token = `cs_${id}_${randomBytes(32).toString('base64url')}`;
  const { signedInBy, ...issued } = from(token) ?? {};
  const record: TokenRecord = {
    id,
    label,
    person,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    reach,
    roles: [...new Set(roles)],
    createdAt,
    expiresAt: expiresInMs === undefined ? null : createdAt + expiresInMs,
    ...(signedInBy && { signedInBy }),
  };
  const value = { ...record, ...issued, hash: hashOf(token).toString('hex') } as unknown as Json;
  await notes.put(COLLECTION, id, value, { version: 0, expiresAt: record.expiresAt });
  return { token, record };
}

/** Lists every token that has not expired, ordered by id. */
export async function listTokens(notes: Notes): Promise<readonly TokenRecord[]> {
  const stored = await allItems((from) => notes.list(COLLECTION, { limit: 200, ...from }));
  return stored.map(({ value }) => {
    const { hash: _hash, confirmation: _confirmation, ...record } = value as StoredToken;
    return { roles: [], ...record };
  });
}

/** Revokes the tokens that pass the test. Returns how many they were. */
export async function revokeTokens(notes: Notes, test: (token: TokenRecord) => boolean): Promise<number> {
  const revoked = (await listTokens(notes)).filter(test).map(({ id }) => revokeToken(notes, id));
  return (await Promise.all(revoked)).filter(Boolean).length;
}

/** Revokes the token with this id. Returns false if it does not exist. */
export async function revokeToken(notes: Notes, id: string): Promise<boolean> {
  return notes.remove(COLLECTION, id);
}

/** Revokes this token if the person got it by signing in. Their programs keep other tokens. */
export async function revokeSignedIn(notes: Notes, token: string): Promise<void> {
  const [, id = ''] = TOKEN.exec(token) ?? [];
  if (await storedToken(notes, token))
    await revokeTokens(notes, (one) => one.id === id && one.signedInBy !== undefined);
}

export const looksLikeToken = (text: string): boolean => text.startsWith('cs_');

/** Finds the owner of a token; undefined if the token is invalid. */
export async function personOfToken(notes: Notes, recheck: Recheck, token: string): Promise<Person | undefined> {
  const found = await storedToken(notes, token);
  const owner = (found?.value as StoredToken | undefined)?.person ?? '';
  const note = found && (await recheck({ collection: COLLECTION, person: owner, secret: token }, found));
  if (!note) return undefined;
  const { person, scopes, reach, roles = [] } = note.value as StoredToken;
  return { id: person, name: null, scopes, reach, roles };
}

async function storedToken(notes: Notes, token: string): Promise<Note | undefined> {
  const given = hashOf(token);
  const [, id] = TOKEN.exec(token) ?? [];
  const note = id === undefined ? undefined : await notes.get(COLLECTION, id);
  const stored = note?.value as StoredToken | undefined;
  // Compared in constant time, also for unknown ids.
  const expected = stored ? Buffer.from(stored.hash, 'hex') : NO_HASH;
  const fits = timingSafeEqual(given, expected);
  return fits && stored ? note : undefined;
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const NO_HASH = Buffer.alloc(32);
