// Origin check: only pages of this server and of allowed origins may send requests that change something.
import { UsageError } from 'countersign';
import type { Proof } from '../identity/person.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Tells whether requests with this method change nothing. */
export const isSafeMethod = (method: string): boolean => SAFE.has(method);

/**
 * A page of another site can make a browser send its user's cookies. Browsers send the origin, so a request that changes
 * something is refused from other origins, and a session cookie without an origin is refused too.
 */
export function refuseOtherOrigins(request: Request, proof: Proof | undefined, own: ReadonlySet<string>): void {
  if (isSafeMethod(request.method)) return;
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  if (origin !== null) {
    if (own.has(origin)) return;
    throw refused(origin);
  }
  if (site === 'same-origin') return;
  if (site !== null && site !== 'none') throw refused('another site');
  if (proof === 'session') throw refused('unknown');
}

function refused(origin: string): UsageError {
  return new UsageError('not-allowed', { status: 403, origin }, `Origin ${origin} is not allowed.`);
}
