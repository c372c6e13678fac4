// Decisions on cards: finds the card of each, and those that were made on an earlier one.
import { roundId } from '../../core/authority/ballots.ts';
import { type Collected, type Found, findDecided, type Leaf } from '../../core/run/decide.ts';
import type { Address, PersonDecision } from '../../core/run/event.ts';
import { addressOf, Decisions, refsOf } from '../../core/run/made.ts';
import type { State } from '../../core/run/state.ts';
import { type PendingCard, requestKey } from './card.ts';

/** A decision on a pending card. */
export type OnCard = { readonly key: string; readonly card: PendingCard; readonly leaf: Leaf };

export type Cards = ReadonlyMap<string, PendingCard>;

/** The decision on this card, ready to be found in its run. */
export function decisionOn({ part }: PendingCard, decision: PersonDecision): Decisions {
  return new Decisions([{ where: 'resume[0]', on: addressOf(part), decision }]);
}

/** Finds the calls of decisions on the cards. */
export function findOnCards(state: State, decisions: Decisions, cards: Cards): Found {
  const collected = new Map<string, NonNullable<PendingCard['progress']>>();
  for (const { part, progress } of cards.values()) if (progress) collected.set(refsOf(addressOf(part)), progress);
  return findDecided(state, decisions, collected satisfies Collected);
}

/** The cards of the decisions. A call that has not asked yet has none. */
export function onCards(leaves: readonly Leaf[], cards: Cards): readonly OnCard[] {
  const keys = new Map([...cards].map(([key, { part }]) => [refsOf(addressOf(part)), key]));
  return leaves.flatMap((leaf) => {
    const key = keys.get(refsOf(leaf.on));
    const card = key === undefined ? undefined : cards.get(key);
    return key !== undefined && card ? [{ key, card, leaf }] : [];
  });
}

/** The id of the card that a decision was made on, which may be over. If the model gave a call no ref, the id of the call is its ref. */
export function cardKey(runId: string, { path, ref, requestId, round = 1 }: Address, { turn }: State): string {
  const [outer] = path;
  const call = turn?.calls.find((one) => one.ref === outer);
  const byRef = outer === undefined ? ref : `${call?.id ?? outer}.${ref}`;
  return requestKey(runId, roundId(requestId ?? byRef, round));
}
