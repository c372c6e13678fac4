// Which pages may make a browser ask: those of this server, and those that were named.
import { UsageError } from 'countersign';
import type { Proof } from '../identity/person.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Tells whether requests with this method change nothing. */
export const isSafeMethod = (method: string): boolean => SAFE.has(method);

/**
 * A page of another site can make a browser send what its user is signed in with. Browsers say where a request comes
 * from; a request that changes something and comes from elsewhere is refused. A cookie counts only together with that
 * word, because nothing but a browser has one.
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
  if (proof === 'session') throw refused('nobody knows where');
}

function refused(origin: string): UsageError {
  return new UsageError('not-allowed', { status: 403, origin }, `Pages of ${origin} may not ask this.`);
}
