// Claims: who works on a question, so that two people do not. They lapse by themselves and lock nothing.
import { ConflictError, type Note, type Notes } from 'countersign';
import type { Claim } from '../shapes/interrupt.ts';

const COLLECTION = 'claims';
const FIVE_MINUTES = 5 * 60_000;

/** The claims of these questions, by their ids. */
export async function claimsOf(notes: Notes, interruptIds: readonly string[]): Promise<ReadonlyMap<string, Claim>> {
  if (interruptIds.length === 0) return new Map();
  const found = await notes.getMany(COLLECTION, interruptIds);
  return new Map(found.map((note) => [note.key, claimIn(note)]));
}

/** Takes the claim, or keeps it for longer. Throws `claimed` if somebody else has it. */
export async function takeClaim(notes: Notes, interruptId: string, by: string, forMs = FIVE_MINUTES): Promise<Claim> {
  for (;;) {
    const note = await notes.get(COLLECTION, interruptId);
    if (note) refuseOthers(interruptId, claimIn(note), by);
    const claim: Claim = { by, until: Date.now() + forMs };
    const options = { version: note?.version ?? 0, expiresAt: claim.until };
    if (await notes.put(COLLECTION, interruptId, { ...claim }, options)) return claim;
  }
}

/** Gives the claim up. Throws `claimed` if somebody else has it. */
export async function releaseClaim(notes: Notes, interruptId: string, by: string): Promise<void> {
  const note = await notes.get(COLLECTION, interruptId);
  if (!note) return;
  refuseOthers(interruptId, claimIn(note), by);
  await notes.remove(COLLECTION, interruptId);
}

/** What is decided is nobody's work any more. */
export async function dropClaim(notes: Notes, interruptId: string): Promise<void> {
  await notes.remove(COLLECTION, interruptId);
}

function claimIn({ value }: Note): Claim {
  return value as unknown as Claim;
}

function refuseOthers(interruptId: string, claim: Claim, by: string): void {
  if (claim.by === by) return;
  throw new ConflictError(
    'claimed',
    { interruptId, claim },
    `${claim.by} works on ${interruptId} until ${new Date(claim.until).toISOString()}.`,
  );
}
