// The votes of a person who was removed, to lift freezes that stand.
import { foldFreeze } from '../../core/authority/freeze.ts';
import { peopleOf } from '../../core/authority/tally.ts';
import type { Store } from '../port/store.ts';
import { bookOf, recorded } from './book.ts';

/** Records that their votes to lift freezes count no longer. */
export async function withdrawLiftVotes(store: Store, person: string): Promise<void> {
  const at = await store.now();
  await bookOf(store).change(({ records }) => {
    const next = records.map((record) => {
      const { votes } = foldFreeze(record.events);
      const isTheirs = votes.some((vote) => peopleOf(vote).includes(person));
      return isTheirs ? recorded({ type: 'votes-withdrawn', at, of: person }, record) : record;
    });
    return next.some((record, index) => record !== records[index]) ? next : undefined;
  });
}
