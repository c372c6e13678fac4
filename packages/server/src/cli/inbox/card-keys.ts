// Which key decides what, and what is said of it at the foot of a card.
import type { DeskCard } from '../desk/desk.ts';
import { holdOn } from './holding.ts';

export type Verb = 'approve' | 'edit' | 'reject' | 'respond' | 'cancel';

const KEYS: readonly (readonly [key: string, verb: Verb])[] = [
  ['a', 'approve'],
  ['e', 'edit'],
  ['r', 'reject'],
  ['w', 'respond'],
  ['c', 'cancel'],
];

/** What a key decides on this card; where there is nothing to approve, `a` answers. */
export function verbOf(text: string, card: DeskCard | undefined): Verb | undefined {
  const verb = KEYS.find(([key]) => key === text)?.[1];
  if (verb === undefined || !card?.mayDecide) return undefined;
  if (card.allows.includes(verb)) return verb;
  return verb === 'approve' && card.allows.includes('respond') ? 'respond' : undefined;
}

export function keysOf(card: DeskCard | undefined, person: string | undefined): readonly string[] {
  if (!card?.mayDecide || card.status === 'decided') return [];
  const hold = holdOn(card, Date.now());
  const taking = hold === null ? ['t take'] : hold.by === person ? ['t give back'] : [];
  const decisions = KEYS.filter(([, verb]) => card.allows.includes(verb)).map(
    ([key, verb]) => `${key} ${verb === 'respond' ? 'answer' : verb}`,
  );
  return [...decisions, ...taking];
}
