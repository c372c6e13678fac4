// Gives the developer a fresh sign-in link when one no longer works.
import type { Notes } from 'countersign/store';
import { createLoginToken, isLoginOpen } from './sessions.ts';

/** The one person of a development server. */
export const DEVELOPER = { id: 'dev', name: 'Developer', reach: 'all' } as const;

/** Resolves to false if too many links were printed lately; if not, the last printed link works. */
export type RenewLink = () => Promise<boolean>;

/** Only a developer who signs in and out again and again comes near it, or a store whose clock is wrong. */
const MOST_LINKS = 10;
const PERIOD_MS = 10 * 60_000;

/**
 * Returns a function that makes a link and gives its token to `print`. Anyone can open a link that does not work, so while
 * the last printed link still works no other is printed: strangers cause at most one in ten minutes.
 */
export function createLinkRenewal(notes: Notes, print: (token: string) => unknown): RenewLink {
  let last: string | undefined;
  let printedAt: readonly number[] = [];
  let turn: Promise<unknown> = Promise.resolve();
  const renew = async (): Promise<boolean> => {
    if (last !== undefined && (await isLoginOpen(notes, last))) return true;
    const now = performance.now();
    printedAt = printedAt.filter((at) => now - at < PERIOD_MS);
    if (printedAt.length >= MOST_LINKS) return false;
    last = await createLoginToken(notes, DEVELOPER);
    printedAt = [...printedAt, now];
    await print(last);
    return true;
  };
  return () => {
    // One at a time, whatever became of the one before.
    const renewed = turn.then(renew, renew);
    turn = renewed;
    return renewed;
  };
}
