// The grants of settled requests: one that let the call run without a decision, and one that was given with the decision.
import type { Countersign } from 'countersign';
import { type GrantView, internalsOf } from 'countersign/store';
import type { Access } from '../access.ts';
import type { Person } from '../identity/person.ts';
import type { ApiRequest } from '../schemas/request.ts';

/** Adds what is left of the grant of each request. A person learns that of a grant that they can see. */
export type GrantsOnCards = <Card extends ApiRequest>(
  cards: readonly Card[],
  person: Person,
) => Promise<readonly Card[]>;

export function createGrantsOnCards(ai: Countersign, access: Access): GrantsOnCards {
  const { grantIdOf, grantsNamed } = internalsOf(ai);

  /** The grant that the card names, or the one that may have been given with its decision. */
  function idOn({ id, kind, grant, decision, createdAt }: ApiRequest): string | undefined {
    if (grant) return grant.id;
    if (kind !== 'approval' || createdAt === null || decision?.type !== 'approve' || decision.by === null)
      return undefined;
    return grantIdOf({ id, createdAt });
  }

  async function sees({ givenBy, requestId }: GrantView, cards: readonly ApiRequest[], person: Person) {
    if (person.reach === 'all' || givenBy === person.id || cards.some(({ id }) => id === requestId)) return true;
    return (await access.find(requestId, person)) !== undefined;
  }

  return async (cards, person) => {
    const ids = new Set(cards.flatMap((card) => idOn(card) ?? []));
    if (ids.size === 0) return cards;
    const found = await grantsNamed([...ids]);
    const seen = await Promise.all(found.map(async (grant) => ((await sees(grant, cards, person)) ? [grant] : [])));
    const known = new Map(seen.flat().map((grant) => [grant.id, grant]));
    return cards.map((card) => {
      const view = known.get(idOn(card) ?? '');
      if (!view) return card;
      const { id, givenBy: by, madeAt: at, uses, left } = view;
      return { ...card, grant: { ...(card.grant ?? { id, is: 'given', by, at }), uses, left: left.uses } };
    });
  };
}
