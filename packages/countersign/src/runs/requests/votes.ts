// Votes: a decision on a request that has a policy is one vote. The tally says whether it settles the request.

import { mayDecide } from '../../core/authority/may-decide.ts';
import { circlesOf, isPlain, type Policies, type Vote } from '../../core/authority/policy.ts';
import { type Missing, standingVotes, tally } from '../../core/authority/tally.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, type Json, sameJson } from '../../core/json.ts';
import { type Bound, boundOf, type EditBound, type Reasked } from '../../core/request/request.ts';
import { mayRun } from '../../core/run/decide.ts';
import { event, type PersonDecision, type RunEvent } from '../../core/run/event.ts';
import type { NewRun } from '../port/store.ts';
import { digestOf, type PendingCard } from './card.ts';
import { saidIn } from './decision.ts';
import { inputThatRuns } from './input-that-runs.ts';
import type { OnCard } from './on-cards.ts';
import { ballotOf, policiesOn } from './progress.ts';
import type { Reached } from './reach.ts';

/** One vote and what follows from it. Without `recorded`, the same vote was cast before. */
export type Cast = {
  readonly card: PendingCard;
  readonly vote: Vote;
  readonly recorded?: RunEvent;
  /** The votes that count now. */
  readonly votes: readonly Vote[];
  /** The round of the request after this vote. */
  readonly round: number;
  /** The vote edits the input, and others must agree to that: the request gets a new card. */
  readonly asksAgain: boolean;
  /** What that card asks of whom. */
  readonly asked?: Reached;
} & ({ readonly status: 'settled' } | { readonly status: 'waiting'; readonly missing: readonly Missing[] });

/** The roles of the voter, and the person whom they stand in for. Asked only if a request has a policy. */
export type Voter = Pick<Vote, 'roles' | 'onBehalfOf' | 'delegation' | 'digest' | 'signature' | 'seenForMs'>;

/** The people and roles that can vote on a request. */
export type Electorate = {
  /** A vote of these people could be recorded, as far as it depends on who they are. */
  mayVote(vote: Pick<Vote, 'by' | 'roles' | 'onBehalfOf'>): boolean;
  /** The people that its policy names. */
  readonly named: readonly string[];
};

export function electorateOf(policies: Policies, card: PendingCard): Electorate {
  const ballot = ballotOf(card);
  const circles = [...policies.flatMap(circlesOf), ...(ballot.escalatedTo ?? [])];
  return {
    mayVote: (vote) => mayDecide(policies, ballot, { ...vote, decision: { type: 'approve' }, signature: true }).ok,
    named: [...new Set(circles.flatMap((who) => who.people ?? []))],
  };
}

/** Checks the signature of a vote, and returns the form to record. */
export type SignVote = (
  key: string,
  vote: Pick<Vote, 'by' | 'decision'> & Voter,
  earlier: readonly Vote[],
) => Promise<Json>;

/** How votes are made: who votes, with which signature, and what the gate says of an edit. */
export type Voting = {
  readonly voterOf: (by: string | null, electorate: Electorate) => Promise<Voter>;
  readonly isOnBehalf: boolean;
  readonly sign: SignVote | undefined;
  readonly rejudge: (edited: OnCard & { readonly input: Json }) => Promise<Reasked>;
  readonly at: number;
};

/** The votes on requests that not just anyone may decide, by their keys. Throws `not-allowed` for one that does not count. */
export async function castVotes(
  run: NewRun,
  decided: readonly OnCard[],
  { isOnBehalf, sign, voterOf, rejudge, at }: Voting,
): Promise<ReadonlyMap<string, Cast>> {
  const casts = new Map<string, Cast>();
  for (const one of decided) {
    const { key, card, leaf } = one;
    const edit = editOn(one);
    const asked = edit && (await rejudge({ ...one, input: edit.input }));
    const policies = policiesOn(card);
    // A vote that is signed, or for another person, is recorded as one even if anyone may decide.
    const isCounted =
      !isPlain(policies) || (asked && !isPlain(asked.policies)) || isOnBehalf || sign || card.progress?.edit;
    if (!isCounted) continue;
    const { by = null, channel, note } = leaf.said;
    const decision = saidIn(edit ? leaf.said : withoutEdit(leaf.said));
    const voter = await voterOf(by, electorateOf(policies, card));
    const signature = await sign?.(key, { ...voter, by, decision }, card.progress?.votes ?? []);
    // `refuseOutdated` has compared the digest that the person sent.
    const digest = digestOf(key, { part: card.part } as unknown as Json);
    const vote: Vote = { by, ...defined({ ...voter, digest, signature, channel, note }), decision, at };
    casts.set(key, castVote(run.id, one, vote, edit && asked && { ...edit, asked }));
  }
  return casts;
}

/** `edit`: the vote changes the input, and what the gate says of that counts from then on. */
function castVote(
  runId: string,
  { key, card, leaf }: OnCard,
  vote: Vote,
  edit: (Edit & { readonly asked: Reasked }) | undefined,
): Cast {
  const ballot = ballotOf(card);
  const policies = policiesOn(card);
  const same = standingVotes(ballot.votes).some((cast) => isSameVote(cast, vote));
  const verdict = same ? OK : mayDecide(policies, ballot, vote);
  if (!verdict.ok) {
    const message = `The decision on ${key} was not recorded. ${verdict.why}`;
    throw new UsageError(verdict.code, { status: 403, requestId: key, runId }, message);
  }
  const all = same ? ballot.votes : [...ballot.votes, vote];
  const counted = { ...ballot, votes: all, ...(edit?.asked.escalate && { escalatedTo: [] }) };
  const result = tally(edit?.asked.policies ?? policies, counted, inputThatRuns(leaf, card.part));
  const isNew = !same && edit !== undefined;
  const asksAgain = isNew && result.status === 'waiting';
  const edits = isNew && { edit: { ...edit, ...(!asksAgain && { settles: true as const }) } };
  const recorded = event({ type: 'vote-cast', requestId: card.id, vote, ...edits });
  const { escalate = card.progress?.escalate ?? card.request.wait?.escalate ?? [] } = edit?.asked ?? {};
  const asked = { policies: edit?.asked.policies ?? policies, ballot: counted, escalate };
  return {
    card,
    vote,
    ...(!same && { recorded }),
    votes: standingVotes(all),
    round: (card.progress?.round ?? 1) + (asksAgain ? 1 : 0),
    asksAgain,
    ...(asksAgain && edit && { asked: { ...asked, input: edit.input } }),
    ...(result.status === 'settled' ? { status: 'settled' } : { status: 'waiting', missing: result.missing }),
  };
}

const OK = { ok: true } as const;

function isSameVote(one: Vote, other: Vote): boolean {
  return (
    one.by !== null &&
    one.by === other.by &&
    one.onBehalfOf === other.onBehalfOf &&
    sameJson(one.decision, other.decision)
  );
}

type Edit = { readonly input: Json; readonly bound?: EditBound };

/** The edit that a decision makes to the input on the card. An edit that changes nothing is none. */
function editOn({ card, leaf: { call, decision, said } }: OnCard): Edit | undefined {
  if (!mayRun(said) || said.input === undefined || sameJson(said.input, card.part.toolRequest.input)) return undefined;
  const shown: Bound = call.phase.at === 'waiting' ? boundOf(call.phase.request) : {};
  const asRecorded = shown.readAnew ? undefined : shown;
  // An edit back to the recorded input is bound as its first card was.
  const bound = mayRun(decision) && 'input' in decision ? decision.bound : asRecorded;
  return { input: said.input, ...defined({ bound }) };
}

function withoutEdit(said: PersonDecision): PersonDecision {
  if (!mayRun(said)) return said;
  const { input: _unchanged, ...rest } = said;
  return rest;
}
