// The claim on a run: its holder, and whether another worker can take it.
import type { Append } from '../../runs/port/store.ts';

/** The claim of a worker on a run, until a time of the store. */
export type Claim = { readonly token: string; readonly until: number };

/** True if `token` holds the claim already, or no worker does. */
export function mayTake(token: string, held: Claim | undefined, now: number): boolean {
  return held === undefined || held.token === token || held.until <= now;
}

/** The claim of `token` from `now` on. */
export function takeClaim(token: string, leaseMs: number, now: number): Claim {
  return { token, until: now + Math.ceil(leaseMs) };
}

/** Whether an append that needs the claim is refused, given who holds it now. */
export function isLost({ how, token }: NonNullable<Append['claim']>, held: Claim | undefined, now: number): boolean {
  if (how === 'take' || held?.token === token) return false;
  return !((how === 'enter' || how === 'pass') && mayTake(token, held, now));
}

/** The claim after an append that is not refused. */
export function claimAfter({ claim }: Append, held: Claim | undefined, now: number): Claim | undefined {
  if (claim === undefined) return held;
  if (claim.how === 'release' || claim.how === 'pass') return undefined;
  return mayTake(claim.token, held, now) ? takeClaim(claim.token, claim.leaseMs, now) : held;
}
