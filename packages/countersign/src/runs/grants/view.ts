// Grants as callers see them.
import {
  type Grant,
  type GrantState,
  type GrantStatus,
  type GrantUse,
  grantLeft,
  grantStatus,
} from '../../core/authority/grants/grant.ts';
import { unaskedIdOf } from '../../core/run/call.ts';
import { runIdOf } from '../requests/card.ts';

/** A grant, with its remaining uses and budget. */
export type GrantView = Grant & {
  readonly madeAt: number;
  readonly status: GrantStatus;
  /** How many calls it still lets run, and the rest of its budget. */
  readonly left: { readonly uses: number; readonly amount?: number };
  readonly revoked: { readonly by: string | null; readonly at: number; readonly reason?: string } | null;
};

/** The grant that was given with a decision. `ai.grants.get` reads all of it. */
export type GivenGrant = Pick<Grant, 'id' | 'tool' | 'uses' | 'expiresAt'>;

/** A grant with the calls that use it, oldest first. */
export type GrantDetails = GrantView & { readonly calls: readonly GrantedCallView[] };

/** `requestId`: of its row in the history. */
export type GrantedCallView = GrantUse & { readonly runId: string; readonly requestId: string };

export function grantView(state: GrantState, now: number): GrantView {
  const { grant, madeAt, revoked = null } = state;
  return { ...grant, madeAt, status: grantStatus(state, now), left: grantLeft(state), revoked };
}

export function grantDetails(state: GrantState, now: number): GrantDetails {
  const calls = [...state.uses.values()].map((use) => ({
    ...use,
    runId: runIdOf(use.key),
    requestId: unaskedIdOf(use.key),
  }));
  return { ...grantView(state, now), calls };
}
