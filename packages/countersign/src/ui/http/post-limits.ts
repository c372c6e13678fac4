// Limits on the number of items in one post, so that its cost stays bounded.
import { UsageError } from '../../core/errors.ts';

const LIMITS = { messages: 5_000, parts: 10_000, decisions: 1_000 } as const;

const ADVICE = {
  messages: 'Post only the latest messages, or start a new chat.',
  parts: 'Post only the latest messages, or start a new chat.',
  decisions: 'Post them in several requests.',
} as const;

/** Throws `too-large` if a post has more of these than allowed. */
export function refuseTooMany(what: keyof typeof LIMITS, count: number): void {
  const max = LIMITS[what];
  if (count <= max) return;
  throw new UsageError(
    'too-large',
    { status: 413, what, max },
    `The post has more than ${max} ${what}. ${ADVICE[what]}`,
  );
}
