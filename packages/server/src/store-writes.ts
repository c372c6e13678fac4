// Checks that a store takes writes, without writing anything.
import type { Store } from 'countersign/store';

/**
 * Releases a claim that does not exist. That changes nothing, and fails if the store is read-only, such as a standby or a
 * replaced file.
 */
export function checkWrites(store: Store): Promise<void> {
  return store.release('nothing', 'nobody');
}
