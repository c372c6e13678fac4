// Who asks a request: by an API token, by the hook of the user, or by the session of a browser.
import { type Notes, UsageError } from 'countersign';
import { checkIdentified, type Identified, isPersonId, type Person, type Proof, personOf } from './person.ts';
import { personOfSession, readCookie, type SessionCookie } from './sessions.ts';
import { looksLikeToken, personOfToken } from './tokens.ts';

/** Where a request comes from, as far as the server knows. */
export type Origin = {
  /** The address of the other end of the connection; behind a proxy, the proxy's. */
  readonly address: string | undefined;
};

/** Says who asks, from what a reverse proxy or a login of your own adds to the request; null if nobody is known. */
export type Identify = (
  request: Request,
  origin: Origin,
) => Identified | null | undefined | Promise<Identified | null | undefined>;

/** Who asks, and how we know. */
export type Caller = { readonly person: Person; readonly proof: Proof };

export type Identification = {
  readonly notes: Notes;
  readonly cookie: SessionCookie;
  readonly identify: Identify | undefined;
};

/** Undefined if nobody is known. A token that is wrong is an error, whatever else the request carries. */
export async function callerOf(
  { notes, cookie, identify }: Identification,
  request: Request,
  origin: Origin,
): Promise<Caller | undefined> {
  const bearer = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (bearer !== undefined && looksLikeToken(bearer)) {
    const person = await personOfToken(notes, bearer);
    if (person) return { person, proof: 'token' };
    throw new UsageError('not-authorized', { status: 401 }, 'The token is unknown, revoked or expired.');
  }
  const found = await asked(() => identify?.(request, origin));
  if (found && isPersonId(found.id)) return { person: identified(found), proof: 'hook' };
  // Nobody has no id. Any other is one that was meant to be known.
  if (found && typeof (found.id ?? '') !== 'string')
    throw new UsageError('invalid-options', { status: 500 }, 'The id that `identify` gives must be a text.');
  const secret = readCookie(cookie, request.headers.get('cookie'));
  const person = secret === undefined ? undefined : await personOfSession(notes, secret);
  return person && { person, proof: 'session' };
}

/** A mistake of the hook is the server's, and not told to whoever asks. */
function identified(found: Identified): Person {
  try {
    checkIdentified('What `identify` gives', found);
  } catch (error) {
    throw error instanceof UsageError
      ? new UsageError(error.code, { ...error.details, status: 500 }, error.message)
      : error;
  }
  return personOf(found);
}

/** What is thrown and is no error would be answered as if the request were at fault. */
async function asked<T>(ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof Error ? error : new Error('`identify` threw what is no error.', { cause: error });
  }
}
