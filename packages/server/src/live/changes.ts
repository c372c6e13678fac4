// The stream of changed runs for one person.
import type { Access } from '../access.ts';
import type { Person } from '../identity/person.ts';
import type { AssigneeWatch } from './assignee-watch.ts';
import type { ServerEvent } from './event-stream.ts';
import type { Hub } from './hub.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Yields `{ runId }` for each changed run; null means that anything may have changed. */
export async function* changesFor(
  { hub, assignees, access }: { readonly hub: Hub; readonly assignees: AssigneeWatch; readonly access: Access },
  person: Person,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const until = AbortSignal.any([signal, hub.closed]);
  const nextChanges = hub.follow(until);
  const stopAssignees = assignees.follow();
  try {
    for (let changed = await nextChanges(); changed !== undefined; changed = await nextChanges()) {
      if (changed === 'all') yield { event: 'change', data: { runId: null } };
      else
        for (const runId of changed) {
          const run = await unlessAborted(access.reference(runId, hub.revision), until);
          if (run && (await unlessAborted(access.sees(run, person, hub.revision), until)))
            yield { event: 'change', data: { runId } };
        }
    }
  } finally {
    stopAssignees();
  }
}
