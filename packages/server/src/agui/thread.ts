// The run of an AG-UI thread. Thread ids come from clients, so each person has threads of their own.
import { createHash } from 'node:crypto';
import type { Access, RunReference } from '../access.ts';
import type { Person } from '../identity/person.ts';
import { runIdShape } from '../schemas/page.ts';

/** `run` is undefined if the thread does not exist yet. */
export type Thread = { readonly runId: string; readonly run: RunReference | undefined };

/** The id of a run that the person can read is a thread too: a decider joins the thread of another person with it. */
export async function findThread(access: Access, agent: string, threadId: string, person: Person): Promise<Thread> {
  const runId = ownRunId(agent, threadId, person);
  const own = await access.reference(runId);
  if (own || !runIdShape.safeParse(threadId).success) return { runId, run: own };
  const named = await access.reference(threadId);
  const isSeen = named?.agent === agent && (await access.sees(named, person));
  return isSeen ? { runId: threadId, run: named } : { runId, run: undefined };
}

function ownRunId(agent: string, threadId: string, { id }: Person): string {
  const hash = createHash('sha256').update(JSON.stringify([id, agent, threadId]));
  return `agui_${hash.digest('base64url')}`;
}
