// Finds the wait in which a call can be recalled, by the id of any request about the call.
import { UsageError } from '../../../core/errors.ts';
import type { Store } from '../../port/store.ts';
import { runIdOf } from '../card.ts';

/** The id of the request to reject. If it is over, the decision on it says who won. Throws `not-recallable` if there is none. */
export async function recallOf(store: Store, requestId: string): Promise<string> {
  const runId = runIdOf(requestId);
  for (const settled of [false, true]) {
    const query = { runId, kind: 'recall', settled, order: 'newest', limit: 200 } as const;
    const { items } = await store.listRequests(query);
    const found = items.find(({ id }) => id === requestId || callIn(id) === callIn(requestId));
    if (found) return found.id;
  }
  const message = `The call of ${requestId} does not wait to start, so it cannot be recalled. Only a call with \`recallFor\` can, once it is approved.`;
  throw new UsageError('not-recallable', { requestId, runId }, message);
}

/** The call that a request is about, whichever round or pause it is. */
export const callIn = (requestId: string): string => requestId.split(/[/~]/, 1)[0] ?? '';
