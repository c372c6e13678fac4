// Freezes: calls that must not start, until enough people have lifted the freeze.
import { InvariantError } from '../errors.ts';
import { mayDecide } from './may-decide.ts';
import type { Ballot, Policies, Policy, Vote } from './policy.ts';
import { isLike } from './rule.ts';
import { type Missing, peopleOf, tally } from './tally.ts';

/** Which calls are frozen. All of it must hold; without anything, every call is. In names of tools, `*` stands for any characters. */
export type FreezeMatch = {
  readonly tools?: readonly string[];
  /** Calls of these agents, and of their sub-agents; calls from outside have the name of their gate. */
  readonly agents?: readonly string[];
  /** Calls in runs that one of these people started, or wrote the last message to. */
  readonly people?: readonly string[];
};

/** What stops a call: which freeze, and who froze it, when and why. */
export type Frozen = {
  readonly id: string;
  readonly reason: string;
  readonly by: string | null;
  readonly at: number;
};

/** A freeze. It never changes; who lifted it follows from its events. */
export type Freeze = Frozen & FreezeMatch;

/** `lift`: who must agree that it ends. */
export type FreezeEvent =
  | { readonly type: 'frozen'; readonly freeze: Freeze; readonly lift: Policies }
  /** `joins`: policies of the process that took the vote, which it must satisfy too. */
  | { readonly type: 'vote-cast'; readonly at: number; readonly vote: Vote; readonly joins?: readonly Policy[] }
  /** This person was removed: their votes to lift it count no longer. */
  | { readonly type: 'votes-withdrawn'; readonly at: number; readonly of: string };

export type FreezeState = {
  readonly freeze: Freeze;
  readonly lift: Policies;
  readonly votes: readonly Vote[];
  /** When and by whom it was lifted. */
  readonly lifted?: { readonly at: number; readonly by: string | null };
  /** The votes that its end still needs. */
  readonly missing: readonly Missing[];
};

/** A call that is about to start. */
export type StartingCall = {
  readonly tool: string;
  /** The agent of the run, and the sub-agents that the call is in. */
  readonly agents: readonly string[];
  readonly people: readonly (string | null | undefined)[];
};

export function isCovered({ tools, agents, people }: FreezeMatch, call: StartingCall): boolean {
  const named = agents ? [...call.agents, call.tool] : [];
  return (
    (tools === undefined || tools.some((pattern) => isLike(pattern, call.tool))) &&
    (agents === undefined || agents.some((pattern) => named.some((name) => isLike(pattern, name)))) &&
    (people === undefined || people.some((person) => call.people.includes(person)))
  );
}

/** Throws an `InvariantError` if the events are not those of one freeze. */
export function foldFreeze([first, ...rest]: readonly FreezeEvent[]): FreezeState {
  if (first?.type !== 'frozen') throw new InvariantError('invariant', {}, 'The record of a freeze has no freeze.');
  const { freeze, lift } = first;
  let state: FreezeState = { freeze, lift, votes: [], missing: missingOf(lift, { votes: [], requesters: [] }) };
  for (const event of rest) {
    if (event.type === 'frozen') throw new InvariantError('invariant', {}, 'The record of a freeze has two freezes.');
    if (state.lifted) continue;
    if (event.type === 'votes-withdrawn') {
      const votes = state.votes.filter((vote) => !peopleOf(vote).includes(event.of));
      state = { ...state, votes, missing: missingOf(state.lift, ballotOf({ freeze, votes })) };
      continue;
    }
    const joined: Policies = [...state.lift, ...(event.joins ?? [])];
    const ballot = ballotOf(state, event.vote);
    const counted = { lift: joined, votes: ballot.votes, missing: missingOf(joined, ballot) };
    const isLifted = tally(joined, ballot, null).status === 'settled';
    state = { ...state, ...counted, ...(isLifted && { lifted: { at: event.at, by: event.vote.by } }) };
  }
  return state;
}

/** Why this vote cannot be cast; undefined if it can. */
export function liftProblem(state: FreezeState, vote: Vote): string | undefined {
  const verdict = mayDecide(state.lift, ballotOf(state), vote);
  return verdict.ok ? undefined : verdict.why;
}

/** With `notRequester`, whoever froze it cannot lift it. */
function ballotOf({ freeze, votes }: Pick<FreezeState, 'freeze' | 'votes'>, ...more: readonly Vote[]): Ballot {
  return { votes: [...votes, ...more], requesters: freeze.by === null ? [] : [freeze.by] };
}

function missingOf(lift: Policies, ballot: Ballot): readonly Missing[] {
  const counted = tally(lift, ballot, null);
  return counted.status === 'waiting' ? counted.missing : [];
}
