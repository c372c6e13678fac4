// Whether a store takes writes, found out without writing anything.
import type { Store } from 'countersign';

/**
 * Gives up a claim that nobody has: that changes nothing, and fails where nothing can be written, as on a standby or in a file
 * that was replaced.
 */
export function checkWrites(store: Store): Promise<void> {
  return store.release('nothing', 'nobody');
}
