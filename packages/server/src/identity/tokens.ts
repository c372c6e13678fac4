// API tokens: made once and shown once; only their hashes are kept.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Json, type Notes, UsageError } from 'countersign';
import { keysOf, refuseUnknownKeys } from '../known-keys.ts';
import { isMoment } from '../moment.ts';
import { checkRights, isPersonId, type Person, personOf, type Reach, SCOPES, type Scope } from './person.ts';

/** What is known of a token; the token itself is not. */
export type TokenRecord = {
  /** Names the token where it is listed and revoked. */
  readonly id: string;
  /** What it is for. */
  readonly label: string;
  /** Who acts with it. */
  readonly person: string;
  readonly scopes: readonly Scope[];
  readonly reach: Reach;
  readonly createdAt: number;
  readonly expiresAt: number | null;
};

/** What a new token may do. */
export type NewToken = {
  /** Who acts with it: recorded as `startedBy` and `by`. */
  readonly person: string;
  /** What it is for; the person unless given. */
  readonly label?: string;
  /** All unless given. */
  readonly scopes?: readonly Scope[];
  /** Whose runs it sees: the own ones unless given. */
  readonly reach?: Reach;
  /** It never expires unless given. */
  readonly expiresInMs?: number;
};

const KEYS = keysOf<NewToken>({ person: true, label: true, scopes: true, reach: true, expiresInMs: true });
const COLLECTION = 'tokens';
/** The id is no secret; 256 random bits are. */
const TOKEN = /^cs_([0-9a-f]{16})_([\w-]{43})$/;

/**
 * Makes a token. It is returned here and never again.
 * @example
 * const { token } = await createToken(ai.runs.notes, { person: 'alice', scopes: ['read', 'decide'] });
 */
export async function createToken(
  notes: Notes,
  options: NewToken,
): Promise<{ readonly token: string; readonly record: TokenRecord }> {
  refuseUnknownKeys('createToken', options, KEYS);
  const { person, label = person, scopes = SCOPES, reach = 'own', expiresInMs } = options;
  if (!isPersonId(person)) throw invalid('`person` must be a text of 1 to 200 characters');
  if (typeof label !== 'string' || label.length > 200)
    throw invalid('`label` must be a text of at most 200 characters');
  checkRights({ scopes, reach });
  if (scopes.length === 0) throw invalid(`\`scopes\` must be some of ${SCOPES.join(', ')}, not none`);
  if (expiresInMs !== undefined && !(Number.isFinite(expiresInMs) && expiresInMs > 0))
    throw invalid('`expiresInMs` must be a number of milliseconds above 0');
  const createdAt = Date.now();
  const id = randomBytes(8).toString('hex');
  const token = `cs_${id}_${randomBytes(32).toString('base64url')}`;
  const record: TokenRecord = {
    id,
    label,
    person,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    reach,
    createdAt,
    expiresAt: expiresInMs === undefined ? null : createdAt + expiresInMs,
  };
  const value = { ...record, hash: hashOf(token).toString('hex') } as unknown as Json;
  const written = await notes.put(COLLECTION, id, value, { version: 0, expiresAt: record.expiresAt });
  if (!written) throw new UsageError('invalid-options', { id }, 'A token with this id exists. Try again.');
  return { token, record };
}

/** Every token that has not expired, in the order of their ids. */
export async function listTokens(notes: Notes): Promise<readonly TokenRecord[]> {
  const found: TokenRecord[] = [];
  let after: string | null | undefined;
  do {
    const page = await notes.list(COLLECTION, { limit: 200, ...(after && { after }) });
    found.push(...page.items.flatMap(({ value }) => storedIn(value)?.record ?? []));
    after = page.cursor;
  } while (after !== null);
  return found;
}

/** From now on the token is refused. False if there is none with this id. */
export async function revokeToken(notes: Notes, id: string): Promise<boolean> {
  return notes.remove(COLLECTION, id);
}

export const looksLikeToken = (text: string): boolean => text.startsWith('cs_');

/** Whose token this is; undefined if it is nobody's. */
export async function personOfToken(notes: Notes, token: string): Promise<Person | undefined> {
  const given = hashOf(token);
  const [, id] = TOKEN.exec(token) ?? [];
  const note = id === undefined ? undefined : await notes.get(COLLECTION, id);
  const stored = note && storedIn(note.value);
  // Hashes of a fixed length, compared in a time that says nothing of where they differ; unknown ids take as long.
  const expected = stored ? Buffer.from(stored.hash, 'hex') : NOBODY;
  const fits = timingSafeEqual(given, expected);
  if (!fits || !stored) return undefined;
  const { person, scopes, reach } = stored.record;
  return personOf({ id: person, scopes, reach });
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const NOBODY = Buffer.alloc(32);

type Stored = { readonly hash: string; readonly record: TokenRecord };

/** Undefined for what is no token, as where somebody changed the store: nobody gets in by it. */
function storedIn(value: Json): Stored | undefined {
  const { hash, ...record } = (value ?? {}) as unknown as TokenRecord & { readonly hash: unknown };
  const { id, label, person, scopes, createdAt, expiresAt } = record;
  if (typeof hash !== 'string' || !HASH.test(hash) || !isPersonId(person) || !Array.isArray(scopes)) return undefined;
  const isListed = typeof id === 'string' && typeof label === 'string' && isMoment(createdAt);
  return isListed && (expiresAt === null || isMoment(expiresAt)) ? { hash, record } : undefined;
}

const HASH = /^[0-9a-f]{64}$/;

function invalid(problem: string): UsageError {
  return new UsageError('invalid-options', {}, `${problem}.`);
}
