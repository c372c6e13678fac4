// Votes: a decision on a question that has a policy is one vote. The tally says whether it settles the question.

import { mayDecide } from '../../core/authority/may-decide.ts';
import { circlesOf, isPlain, type Policies, type Vote } from '../../core/authority/policy.ts';
import { type Missing, standingVotes, tally } from '../../core/authority/tally.ts';
import { UsageError } from '../../core/errors.ts';
import { defined, isObject, type Json, sameJson } from '../../core/json.ts';
import { type DecisionEntry, type Decisions, isDecision, type Leaf } from '../../core/run/decide.ts';
import { type EditBound, event, type Reasked, type RunEvent } from '../../core/run/event.ts';
import { refsOf } from '../../core/run/sub-agents.ts';
import type { NewRun } from '../port/store.ts';
import { digestOf, type PendingCard } from './card.ts';
import type { Resumption, Signed } from './decision.ts';
import { inputThatRuns } from './input-that-runs.ts';
import { ballotOf, policiesOn } from './progress.ts';

/** Decisions in terms of the record, which has the input before the edit that the card of a later round shows. */
export type RecordedDecisions = {
  readonly decisions: Decisions;
  /** What the edits are bound to that the cards showed, by the entry of the decision. */
  readonly bounds: ReadonlyMap<string, EditBound | undefined>;
};

/** A decision that was made on the card of another round becomes a fault. */
export function onRecord(decisions: Decisions, cards: Iterable<PendingCard>): RecordedDecisions {
  const bounds = new Map<string, EditBound | undefined>();
  const governed = [...cards].filter((card) => !isPlain(policiesOn(card)) || card.progress?.edit);
  if (governed.length === 0) return { decisions, bounds };
  const byRefs = new Map(governed.map((card) => [refsOf(card.part), card]));
  const faults = [...decisions.faults];
  const entries = decisions.entries.flatMap((entry): readonly DecisionEntry[] => {
    const { part, where } = entry;
    const card = isDecision(part) ? byRefs.get(refsOf(part)) : undefined;
    if (!card) return [entry];
    if (roundIn(part) === roundIn(card.part)) return [{ ...entry, part: counted(entry, card, bounds) }];
    const problem = `${card.tool} was edited since; this decision was made on its earlier input`;
    faults.push({ where, problem, stale: true });
    return [];
  });
  return { decisions: { ...decisions, entries, faults }, bounds };
}

const roundIn = ({ metadata }: DecisionEntry['part']): unknown => metadata?.round ?? 1;

function counted(
  { part, where }: DecisionEntry,
  { progress, part: shown }: PendingCard,
  bounds: Map<string, EditBound | undefined>,
): DecisionEntry['part'] {
  // A `generate` inside a tool counts one vote; these have been counted when it gets the decision.
  const { round: _round, ...given } = part.metadata ?? {};
  const metadata = { ...given, [COUNTED]: true };
  const edit = progress?.edit;
  if (!edit || !('toolRequest' in part)) return { ...part, metadata };
  const { replacedInput = part.toolRequest.input } = metadata as { readonly replacedInput?: Json };
  // Not what the card shows: `checkResume` refuses it.
  if (!sameJson(replacedInput, edit.input)) return { ...part, metadata: { ...metadata, replacedInput } };
  const editedFrom = shown.metadata?.editedFrom;
  if (!sameJson(part.toolRequest.input, edit.input))
    return { ...part, metadata: { ...metadata, replacedInput: editedFrom } };
  bounds.set(where, edit.bound);
  return {
    ...part,
    metadata: { ...metadata, replacedInput: editedFrom, ...defined({ editedBy: edit.by ?? undefined }) },
  };
}

const COUNTED = 'counted';

/** One vote and what follows from it. Without `recorded`, the same vote was cast before. */
export type Cast = {
  readonly card: PendingCard;
  readonly where: string;
  readonly vote: Vote;
  readonly recorded?: RunEvent;
  /** The votes that count now. */
  readonly votes: readonly Vote[];
  /** The round of the question after this vote. */
  readonly round: number;
  /** The vote edits the input, and others must agree to that: the question gets a new card. */
  readonly asksAgain: boolean;
} & ({ readonly status: 'settled' } | { readonly status: 'waiting'; readonly missing: readonly Missing[] });

/** The roles of the voter, and the person whom they stand in for. Asked only if a question has a policy. */
export type Voter = Pick<Vote, 'roles' | 'onBehalfOf' | 'delegation' | 'digest' | 'signature' | 'seenForMs'>;

/** The people and roles that can vote on a question. */
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
  readonly voterOf: (signed: Signed, electorate: Electorate) => Promise<Voter>;
  readonly isOnBehalf: boolean;
  readonly sign: SignVote | undefined;
  readonly rejudge: (edited: {
    readonly card: PendingCard;
    readonly leaf: Leaf;
    readonly input: Json;
  }) => Promise<Reasked>;
  readonly at: number;
};

/** The votes on requests that not just anyone may decide, by their keys. Throws `not-allowed` for one that does not count. */
export async function castVotes(
  run: NewRun,
  decided: Resumption['decided'],
  leaves: readonly Leaf[],
  voting: Voting,
): Promise<ReadonlyMap<string, Cast>> {
  const { isOnBehalf, sign, voterOf, rejudge, at } = voting;
  const casts = new Map<string, Cast>();
  const leafOf = new Map(leaves.map((leaf) => [JSON.stringify([...leaf.path, leaf.call].map(({ ref }) => ref)), leaf]));
  for (const [key, { card, settlement }] of decided) {
    const leaf = leafOf.get(refsOf(card.part));
    if (!leaf) continue;
    const { edit, decision } = editIn(settlement.decision, card, leaf);
    const asked = edit && (await rejudge({ card, leaf, input: edit.input }));
    const policies = policiesOn(card);
    // A vote that is signed, or for another person, is recorded as one even if anyone may decide.
    const isCounted =
      !isPlain(policies) || (asked && !isPlain(asked.policies)) || isOnBehalf || sign || card.progress?.edit;
    if (!isCounted) continue;
    const said = { ...settlement, decision };
    const voter = await voterOf(said, electorateOf(policies, card));
    const signature = await sign?.(key, { ...voter, ...said }, card.progress?.votes ?? []);
    const { by, channel, note } = said;
    // `refuseOutdated` has compared the digest that the person sent.
    const digest = digestOf(key, { part: card.part } as unknown as Json);
    const vote: Vote = {
      by,
      ...defined({ ...voter, digest, signature, channel: channel ?? undefined, note: note ?? undefined }),
      decision,
      at,
    };
    casts.set(key, castVote(run.id, key, card, leaf, vote, edit && asked && { ...edit, asked }));
  }
  return casts;
}

/** `edit`: the vote changes the input, and what the gate says of that counts from then on. */
function castVote(
  runId: string,
  key: string,
  card: PendingCard,
  leaf: Leaf,
  vote: Vote,
  edit: (Edit & { readonly asked: Reasked }) | undefined,
): Cast {
  const ballot = ballotOf(card);
  const policies = policiesOn(card);
  const same = standingVotes(ballot.votes).some((cast) => isSameVote(cast, vote));
  const verdict = same ? OK : mayDecide(policies, ballot, vote);
  if (!verdict.ok) {
    const message = `The decision on ${key} was not recorded. ${verdict.why}`;
    throw new UsageError(verdict.code, { status: 403, interruptId: key, runId }, message);
  }
  const all = same ? ballot.votes : [...ballot.votes, vote];
  const counted = { ...ballot, votes: all, ...(edit?.asked.escalate && { escalatedTo: [] }) };
  const result = tally(edit?.asked.policies ?? policies, counted, inputThatRuns(leaf, card.part));
  const isNew = !same && edit !== undefined;
  const asksAgain = isNew && result.status === 'waiting';
  const edits = isNew && { edit: { ...edit, ...(!asksAgain && { settles: true as const }) } };
  const recorded = event({ type: 'vote-cast', interruptId: card.id, vote, ...edits });
  return {
    card,
    where: leaf.where,
    vote,
    ...(!same && { recorded }),
    votes: standingVotes(all),
    round: (card.progress?.round ?? 1) + (asksAgain ? 1 : 0),
    asksAgain,
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
function editIn(
  decision: Json,
  { part }: PendingCard,
  { call, decision: made }: Leaf,
): { edit?: Edit; decision: Json } {
  const {
    edit,
    replaceInput = edit,
    ...said
  } = (isObject(decision) ? decision : {}) as { readonly [key: string]: Json };
  if (replaceInput === undefined) return { decision };
  if (sameJson(replaceInput, part.toolRequest.input)) return { decision: said };
  const { runsWith, readAnew } = call.phase.at === 'waiting' ? call.phase.interrupt : {};
  const asRecorded = readAnew ? undefined : defined({ runsWith });
  // An edit back to the recorded input is bound as its first card was.
  const bound = 'input' in made ? made.bound : asRecorded;
  return { edit: { input: replaceInput, ...defined({ bound }) }, decision };
}
