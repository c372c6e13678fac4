// The claim of a journal on its run: still wanted, held since a moment, or left to other workers.
import type { ClaimHow } from '../port/store.ts';

/** A moment by two clocks: the store's may be set back, and the steady one stops while the computer sleeps. */
export type Moment = { readonly at: number; readonly steadyAt: number };

/**
 * How a journal begins. `held`: it holds the claim already, under this token. `take`: its first append takes the claim if it
 * is free. `enter`: its first append is refused if another worker has the claim. `none`: it leaves the claim to others.
 */
export type ClaimOption = { readonly held: string } | 'take' | 'enter' | 'none';

/** Whether the next append takes the claim if it is free, or is refused if another worker has it; see `ClaimOption`. */
export type Claim =
  | { readonly at: 'wanted'; readonly by: 'take' | 'enter' }
  | { readonly at: 'held'; readonly since: Moment }
  | { readonly at: 'none' };

export function momentBy(clock: () => number): Moment {
  return { at: clock(), steadyAt: performance.now() };
}

/** The lease has run out by either clock. */
export function hasLapsed(since: Moment, now: Moment, leaseMs: number): boolean {
  return now.at - since.at >= leaseMs || now.steadyAt - since.steadyAt >= leaseMs;
}

/** What an append does about the claim; `leaves` gives it up with the append. Undefined if it does nothing. */
export function claimIn(claim: Claim, leaves: boolean): ClaimHow | undefined {
  switch (claim.at) {
    case 'held':
      return leaves ? 'release' : 'hold';
    case 'wanted':
      if (claim.by === 'take') return 'take';
      return leaves ? 'pass' : 'enter';
    case 'none':
      return undefined;
  }
}

/** The claim after an append that was sent at `asked`. One that was given up is not taken again. */
export function claimAfter(how: ClaimHow | undefined, claimed: boolean, asked: Moment): Claim {
  if (how === undefined || how === 'release' || how === 'pass') return { at: 'none' };
  return claimed ? { at: 'held', since: asked } : { at: 'wanted', by: 'take' };
}
