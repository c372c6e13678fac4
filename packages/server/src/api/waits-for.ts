// Whose turn it is: whether a pending request waits for this person, or for others.
import type { ApiRequest } from '../schemas/request.ts';

/**
 * Whether the request waits for this person: they may decide it, have not voted on it, and nobody else was asked to decide it.
 * `people`: the person, and those whom they stand in for.
 */
export function waitsFor(
  { status, mayDecide, progress }: Pick<ApiRequest, 'status' | 'mayDecide' | 'progress'>,
  people: readonly string[],
): boolean {
  if (status !== 'pending' || !mayDecide) return false;
  const { votes = [], assignedTo = null } = progress ?? {};
  if (assignedTo !== null && !people.includes(assignedTo)) return false;
  return !votes.some(({ isYours }) => isYours);
}
