// The votes of a person who was removed, on requests that still wait.
import type { Vote } from '../../../core/authority/policy.ts';
import { peopleOf, standingVotes } from '../../../core/authority/tally.ts';
import { defined } from '../../../core/json.ts';
import { event } from '../../../core/run/event.ts';
import type { Drives } from '../../driving/driving.ts';
import { recordOn } from '../recording.ts';

/** Who was removed, by whom, and why. */
export type RemovedVoter = { readonly of: string; readonly by: string | null; readonly reason?: string };

/** Records that their votes on a pending request count no longer. Resolves with false if there are none. */
export async function withdrawVotes(drives: Drives, requestId: string, removed: RemovedVoter): Promise<boolean> {
  let isRecorded = false;
  await recordOn(drives, requestId, 'decision', async ({ id, progress }) => {
    isRecorded = standingVotes(progress?.votes ?? []).some((vote) => peopleOf(vote).includes(removed.of));
    return isRecorded ? event({ type: 'votes-withdrawn', requestId: id, ...defined(removed) }) : undefined;
  });
  return isRecorded;
}

/** Withdraws votes that were recorded while someone removed their voter, and throws `not-allowed`. */
export async function refuseRemovedVoters(drives: Drives, votes: ReadonlyMap<string, Vote>): Promise<void> {
  for (const [requestId, vote] of votes)
    for (const of of peopleOf(vote)) {
      try {
        await drives.people.refuseRemoved(of);
      } catch (error) {
        await withdrawVotes(drives, requestId, { of, by: null });
        throw error;
      }
    }
}
