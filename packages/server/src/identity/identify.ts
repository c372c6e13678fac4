// Identifies the caller of a request: by an API token, the `identify` hook, or a browser session.
import { UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { checkIdentified, type Identified, isPersonId, type Person, type Proof, personOf } from './person.ts';
import { personOfSession, type Recheck, readCookie, type SessionCookie } from './sessions.ts';
import { looksLikeToken, personOfToken } from './tokens.ts';

/** The origin of a request, as far as the server knows it. */
export type Origin = {
  /** The address of the other end of the connection; behind a proxy, the proxy's. */
  readonly address: string | undefined;
};

/** Identifies the caller from what a reverse proxy or your own login adds to the request; null if not signed in. */
export type Identify = (
  request: Request,
  origin: Origin,
) => Identified | null | undefined | Promise<Identified | null | undefined>;

/** The caller, and how they were identified. */
export type Caller = { readonly person: Person; readonly proof: Proof };

/** Undefined if the caller is not signed in. `isUse`: the request counts against the idle limit of a session. An invalid token is an error, whatever else the request carries. */
export async function callerOf(
  {
    notes,
    cookie,
    identify,
    recheck,
  }: { notes: Notes; cookie: SessionCookie; identify: Identify | undefined; recheck: Recheck },
  request: Request,
  origin: Origin,
  isUse = false,
): Promise<Caller | undefined> {
  const bearer = bearerOf(request);
  if (bearer !== undefined && looksLikeToken(bearer)) {
    const person = await personOfToken(notes, recheck, bearer);
    if (person) return { person, proof: 'token' };
    throw new UsageError('not-authorized', { status: 401 }, 'The token is unknown, revoked or expired.');
  }
  const found = await callHook(() => identify?.(request, origin));
  if (found && isPersonId(found.id)) return { person: identified(found), proof: 'hook' };
  // A missing or empty id means not signed in; any other type is a mistake of the hook.
  if (found && typeof (found.id ?? '') !== 'string')
    throw new UsageError('invalid-options', { status: 500 }, 'The id that `identify` returns must be a string.');
  const secret = readCookie(cookie, request.headers.get('cookie'));
  const person = secret === undefined ? undefined : await personOfSession(notes, recheck, secret, isUse);
  return person && { person, proof: 'session' };
}

export const bearerOf = ({ headers }: Request): string | undefined =>
  /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];

function identified(found: Identified): Person {
  // A mistake of the hook is an internal error that the caller does not see.
  checkIdentified('The result of `identify`', found, { status: 500 });
  return personOf(found);
}

/** A thrown value that is not an Error would look like a fault of the request. */
async function callHook<T>(ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof Error
      ? error
      : new Error('`identify` threw a value that is not an Error.', { cause: error });
  }
}
