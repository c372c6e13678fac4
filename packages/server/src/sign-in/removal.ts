// Removes a person: what they have ends at once, and their votes on requests that wait count no longer. Each step may be done again.
import type { Countersign, UsageError } from 'countersign';
import type { Vote } from 'countersign/request';
import { internalsOf, SIGNED_IN } from 'countersign/store';
import { allItems } from '../all-items.ts';
import { dropLoginTokens, endSessions } from '../identity/sessions.ts';
import { listTokens, revokeTokens } from '../identity/tokens.ts';
import { unbindSubjects } from './known-subjects.ts';

type RemovalOptions = { readonly by: string; readonly reason?: string };

/** How much of what ended. */
type Ended = {
  readonly sessions: number;
  readonly tokens: number;
  readonly links: number;
  readonly passkeys: number;
  readonly grants: number;
  readonly votes: number;
};

const PAGE = 200;

export async function removePerson(ai: Countersign, person: string, options: RemovalOptions): Promise<Ended> {
  const { notes, passkeys } = ai.runs;
  // First: nothing new begins, and a crash after it leaves the rest to the next try.
  const { by, reason } = await ai.people.remove(person, options);
  const why = reason === undefined ? `${person} was removed.` : `${person} was removed: ${reason}`;
  const signedOut = await signOut(ai, person);
  const links = await dropLoginTokens(notes, person);
  const keys = (await passkeys.list(person)).filter(({ revokedAt }) => revokedAt === null);
  for (const { id } of keys) await passkeys.revoke(person, id);
  const active = await allItems(({ cursor }) =>
    ai.grants.list({ status: 'active', limit: PAGE, ...(cursor !== undefined && { cursor }) }),
  );
  // Also those that others gave, where this vote was one of several.
  const grants = active.filter(({ givenBy, votes }) => givenBy === person || votes.some(isOf(person)));
  for (const { id } of grants) await ai.grants.revoke(id, { by, reason: why });
  const votes = await withdrawVotes(ai, person, options);
  return { ...signedOut, links, passkeys: keys.length, grants: grants.length, votes };
}

/** Removes everyone who has signed in here and who has left, by the directory. Returns their ids. */
export async function removeThoseWhoLeft(ai: Countersign): Promise<readonly string[]> {
  if (!ai.people.knowsWhoLeft) return [];
  const { notes } = ai.runs;
  const signedIn = (await allItems((from) => notes.list(SIGNED_IN, { limit: PAGE, ...from }))).map(({ key }) => key);
  const tokens = (await listTokens(notes)).map(({ person }) => person);
  const left: string[] = [];
  for (const person of new Set([...signedIn, ...tokens])) {
    if ((await ai.people.removalOf(person)) || !(await ai.people.hasLeft(person))) continue;
    await removePerson(ai, person, { by: 'directory', reason: 'The directory says that they have left.' });
    left.push(person);
  }
  return left;
}

/** Ends the sessions of a person, and the tokens of `countersign login`. They can sign in again. */
export async function signOut(
  { runs: { notes }, people }: Countersign,
  person: string,
): Promise<Pick<Ended, 'sessions' | 'tokens'>> {
  const isRemoved = (await people.removalOf(person)) !== undefined;
  return {
    sessions: await endSessions(notes, ({ id }) => id === person),
    tokens: await revokeTokens(notes, (one) => one.person === person && (isRemoved || one.signedInBy !== undefined)),
  };
}

/** Lets a person sign in again, with any name that the issuer now gives their account. Returns false if they were not removed. */
export async function restorePerson(ai: Countersign, person: string): Promise<boolean> {
  await unbindSubjects(ai.runs.notes, person);
  return ai.people.restore(person);
}

/** Returns on how many requests. */
async function withdrawVotes(ai: Countersign, person: string, { by, reason }: RemovalOptions): Promise<number> {
  const pending = await allItems(({ cursor }) =>
    ai.runs.requests({ settled: false, limit: PAGE, ...(cursor !== undefined && { cursor }) }),
  );
  let withdrawn = 0;
  for (const { id, progress } of pending) {
    if (!progress?.votes.some(isOf(person))) continue;
    const removed = { of: person, by, ...(reason !== undefined && { reason }) };
    const isRecorded = await internalsOf(ai.runs)
      .withdrawVotes(id, removed)
      .catch((error: unknown) => {
        // Others decided it meanwhile, or its run was deleted.
        if (isOver(error)) return false;
        throw error;
      });
    if (isRecorded) withdrawn += 1;
  }
  return withdrawn;
}

const isOf =
  (person: string) =>
  ({ by, onBehalfOf }: Pick<Vote, 'by' | 'onBehalfOf'>): boolean =>
    by === person || onBehalfOf === person;

function isOver(error: unknown): boolean {
  const { code } = (error ?? {}) as Partial<UsageError>;
  return code === 'already-decided' || code === 'unknown-request';
}
