// A hold shows others that this person is reviewing a request. It locks nothing and expires after five minutes.

import { holdOn } from '../../text/decision-text.ts';
import type { Backend, Card } from '../backend/backend.ts';

const RENEW_EVERY_MS = 2 * 60_000;
/** A hold that cannot be released in this time expires later. */
const RELEASE_TIMEOUT_MS = 2_000;

/** Holds the request while `work` runs. Failing to hold it, or finding it held, does not keep anyone from deciding. */
export async function withHold<T>(
  backend: Pick<Backend, 'hold' | 'release'>,
  card: Card,
  work: () => Promise<T>,
): Promise<T> {
  if (holdOn(card, Date.now()) !== null) return work();
  const hold = () => backend.hold(card.id).catch(() => undefined);
  let held = hold();
  const timer = setInterval(() => {
    held = hold();
  }, RENEW_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    const release = held.then((mine) => mine && backend.release(card.id)).catch(() => undefined);
    await Promise.race([release, new Promise((resolve) => setTimeout(resolve, RELEASE_TIMEOUT_MS).unref())]);
  }
}
