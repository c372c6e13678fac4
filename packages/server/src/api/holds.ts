// Claims: who works on a question, so that two people do not. They lapse by themselves and lock nothing.
import { ConflictError, type Note, type Notes } from 'countersign';
import { isMoment } from '../moment.ts';
import { type Claim, ClaimShape } from '../schemas/interrupt.ts';

const COLLECTION = 'claims';
const FIVE_MINUTES = 5 * 60_000;
const PAGE = 500;
/** In place of a claim that was given up. */
const NOBODY = null;

/** The claims of these questions, by their ids. */
export async function claimsOf(notes: Notes, interruptIds: readonly string[]): Promise<ReadonlyMap<string, Claim>> {
  if (interruptIds.length === 0) return new Map();
  const found = await notes.getMany(COLLECTION, interruptIds);
  return new Map(
    found.flatMap((note) => {
      const claim = claimIn(note);
      return claim ? [[note.key, claim]] : [];
    }),
  );
}

/** The version of every claim, by the id of its question: another one with each write. */
export async function claimVersions(notes: Notes): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (let after: string | undefined; ; ) {
    const page = await notes.list(COLLECTION, { limit: PAGE, ...(after && { after }) });
    for (const { key, version } of page.items) found.set(key, version);
    if (page.cursor === null) return found;
    after = page.cursor;
    // SQLite answers at once: without a turn in between, nothing else would happen until all of them were looked at.
    await new Promise(setImmediate);
  }
}

/** Takes the claim, or keeps it for longer. Throws `claimed` if somebody else has it. */
export async function takeClaim(notes: Notes, interruptId: string, by: string, forMs = FIVE_MINUTES): Promise<Claim> {
  for (;;) {
    const note = await notes.get(COLLECTION, interruptId);
    refuseOthers(interruptId, note && claimIn(note), by);
    const claim: Claim = { by, until: Date.now() + forMs };
    const options = { version: note?.version ?? 0, expiresAt: claim.until };
    if (await notes.put(COLLECTION, interruptId, { ...claim }, options)) return claim;
  }
}

/** Gives the claim up. Throws `claimed` if somebody else has it. */
export async function releaseClaim(notes: Notes, interruptId: string, by: string): Promise<void> {
  for (;;) {
    const note = await notes.get(COLLECTION, interruptId);
    const claim = note && claimIn(note);
    if (!claim) return;
    refuseOthers(interruptId, claim, by);
    // That nobody has it is written down for a while: other processes, who look now and then, would miss what is gone.
    const options = { version: note.version, expiresAt: Date.now() + FIVE_MINUTES };
    if (await notes.put(COLLECTION, interruptId, NOBODY, options)) return;
  }
}

/** What is decided is nobody's work any more. */
export async function dropClaim(notes: Notes, interruptId: string): Promise<void> {
  await notes.remove(COLLECTION, interruptId);
}

/** Undefined if it was given up, or is none, as where somebody changed the store: that keeps nobody from their work. */
function claimIn({ value }: Note): Claim | undefined {
  const { data } = value === NOBODY ? {} : ClaimShape.safeParse(value);
  return data && isMoment(data.until) ? data : undefined;
}

function refuseOthers(interruptId: string, claim: Claim | undefined, by: string): void {
  if (!claim || claim.by === by) return;
  throw new ConflictError(
    'claimed',
    { interruptId, claim },
    `${claim.by} works on ${interruptId} until ${new Date(claim.until).toISOString()}.`,
  );
}
