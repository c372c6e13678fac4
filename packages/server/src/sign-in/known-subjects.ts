// What is remembered about accounts at issuers: the one name that each account has here, and when an issuer has signed it out.
import { createHash } from 'node:crypto';
import { UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { allItems } from '../all-items.ts';
import type { SignedInBy } from '../identity/sessions.ts';

const SUBJECTS = 'sign-in-subjects';
const SIGNED_OUT = 'sign-in-signed-out';
/** Longer than a sign-in may take. */
const REMEMBERED_MS = 60 * 60_000;

const keyOf = (...parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** An account whose mail address changes must not become a second person with a second vote. Throws if it would. */
export async function bindSubject(notes: Notes, { issuer, sub }: SignedInBy, person: string): Promise<void> {
  const key = keyOf(issuer, sub);
  await notes.put(SUBJECTS, key, person, { version: 0 });
  const known = (await notes.get(SUBJECTS, key))?.value;
  if (known === person) return;
  const message = `This account was ${known} here, and is ${person} now. An operator can allow the new name with: countersign people restore ${known}`;
  throw new UsageError('not-allowed', { status: 403 }, message);
}

/** Forgets which accounts this person had. */
export async function unbindSubjects(notes: Notes, person: string): Promise<void> {
  const all = await allItems((from) => notes.list(SUBJECTS, { limit: 200, ...from }));
  for (const { key, value } of all) if (value === person) await notes.remove(SUBJECTS, key);
}

/** A sign-out at the issuer, at this time in seconds. Remembered for sign-ins that are still under way. */
export async function rememberSignOut(
  notes: Notes,
  { issuer, sub, sid }: Partial<SignedInBy> & { readonly issuer: string },
  at: number,
): Promise<void> {
  const key = sid === undefined ? keyOf(issuer, 'sub', sub ?? '') : keyOf(issuer, 'sid', sid);
  await notes.put(SIGNED_OUT, key, at, { expiresAt: Date.now() + REMEMBERED_MS });
}

/** Whether the issuer has ended this sign-in since it issued the ID token. */
export async function isSignedOut(notes: Notes, { issuer, sub, sid }: SignedInBy, issuedAt: number): Promise<boolean> {
  const keys = [keyOf(issuer, 'sub', sub), ...(sid === undefined ? [] : [keyOf(issuer, 'sid', sid)])];
  const found = await notes.getMany(SIGNED_OUT, keys);
  // A session that was ended never comes back. An account that was signed out can sign in later.
  return found.some(({ key, value }) => key !== keys[0] || Number(value) >= issuedAt);
}
