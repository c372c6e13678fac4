// Holds: show that a person is reviewing a request, so that two people do not. They expire and lock nothing.
import { ConflictError } from 'countersign';
import type { Note, Notes } from 'countersign/store';
import { allItems } from './all-items.ts';
import type { Hold } from './schemas/interrupt.ts';

const COLLECTION = 'holds';
const FIVE_MINUTES = 5 * 60_000;
const PAGE = 500;
/** The value of a hold that was released. */
const RELEASED = null;

/** The holds on these requests, by interrupt id. */
export async function holdsOf(notes: Notes, interruptIds: readonly string[]): Promise<ReadonlyMap<string, Hold>> {
  if (interruptIds.length === 0) return new Map();
  const found = await notes.getMany(COLLECTION, interruptIds);
  return new Map(
    found.flatMap((note) => {
      const hold = holdIn(note);
      return hold ? [[note.key, hold]] : [];
    }),
  );
}

/** The version of every hold, by interrupt id; each write changes it. */
export async function holdVersions(notes: Notes): Promise<ReadonlyMap<string, number>> {
  const holds = await allItems((from) => notes.list(COLLECTION, { limit: PAGE, ...from }));
  return new Map(holds.map(({ key, version }) => [key, version]));
}

/** Takes or extends the hold. Throws `claimed` if another person has it. */
export async function takeHold(notes: Notes, interruptId: string, by: string, forMs = FIVE_MINUTES): Promise<Hold> {
  for (;;) {
    const note = await notes.get(COLLECTION, interruptId);
    refuseOthers(interruptId, note && holdIn(note), by);
    const hold: Hold = { by, until: Date.now() + forMs };
    const options = { version: note?.version ?? 0, expiresAt: hold.until };
    if (await notes.put(COLLECTION, interruptId, { ...hold }, options)) return hold;
  }
}

/** Releases the hold. Throws `claimed` if another person has it. */
export async function releaseHold(notes: Notes, interruptId: string, by: string): Promise<void> {
  for (;;) {
    const note = await notes.get(COLLECTION, interruptId);
    const hold = note && holdIn(note);
    if (!hold) return;
    refuseOthers(interruptId, hold, by);
    // Kept for a while as released: other processes look only now and then and would miss a removal.
    const options = { version: note.version, expiresAt: Date.now() + FIVE_MINUTES };
    if (await notes.put(COLLECTION, interruptId, RELEASED, options)) return;
  }
}

/** Removes the hold on a request that was decided. */
export async function removeHold(notes: Notes, interruptId: string): Promise<void> {
  await notes.remove(COLLECTION, interruptId);
}

/** Undefined if it was released. */
const holdIn = ({ value }: Note): Hold | undefined => (value as Hold | typeof RELEASED) ?? undefined;

function refuseOthers(interruptId: string, hold: Hold | undefined, by: string): void {
  if (!hold || hold.by === by) return;
  throw new ConflictError(
    'claimed',
    { interruptId, hold },
    `${hold.by} is reviewing ${interruptId} until ${new Date(hold.until).toISOString()}.`,
  );
}
