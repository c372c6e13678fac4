// Shows others that this person reviews a request: it is assigned to them for five minutes. That locks nothing and expires.

import { assigneeOn } from '../../text/decision-text.ts';
import type { Backend, Card } from '../backend/backend.ts';

const RENEW_EVERY_MS = 2 * 60_000;
/** What cannot be released in this time expires later. */
const RELEASE_TIMEOUT_MS = 2_000;

/** Takes the request while `work` runs. Failing to, or finding it assigned, does not keep anyone from deciding. */
export async function whileReviewing<T>(
  backend: Pick<Backend, 'take' | 'release'>,
  card: Card,
  work: () => Promise<T>,
): Promise<T> {
  if (assigneeOn(card, Date.now()) !== null) return work();
  const take = () =>
    backend.take(card.id).then(
      () => true,
      () => false,
    );
  let taken = take();
  const timer = setInterval(() => {
    taken = take();
  }, RENEW_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    const release = taken.then((mine) => (mine ? backend.release(card.id) : undefined)).catch(() => undefined);
    await Promise.race([release, new Promise((resolve) => setTimeout(resolve, RELEASE_TIMEOUT_MS).unref())]);
  }
}
