// The assignee of a request: the person who should decide it. It locks nothing.
//
// A colleague or a rule assigns it for good, which the run records. Somebody who reviews it assigns it to themselves for a while,
// which a client renews and which expires by itself: a note, so that renewals do not make the record of the run grow.
import { ConflictError } from 'countersign';
import type { Note, Notes } from 'countersign/store';
import { allItems } from './all-items.ts';
import type { Assignee } from './schemas/request.ts';

/** An assignee with an end. */
type Reviewer = Assignee & { readonly until: number };

const COLLECTION = 'assignees';
const FIVE_MINUTES = 5 * 60_000;
const PAGE = 500;
/** The value of a note that was released. */
const RELEASED = null;

/** The assignees of these pending requests, by request id. */
export async function assigneesOf(notes: Notes, pending: readonly Assigned[]): Promise<ReadonlyMap<string, Assignee>> {
  if (pending.length === 0) return new Map();
  const found = await notes.getMany(
    COLLECTION,
    pending.map(({ id }) => id),
  );
  const reviewers = new Map(found.map((note) => [note.key, reviewerIn(note)]));
  return new Map(
    pending.flatMap((request) => {
      const assignee = reviewers.get(request.id) ?? recordedAssignee(request);
      return assignee ? [[request.id, assignee]] : [];
    }),
  );
}

type Assigned = { readonly id: string; readonly progress: { readonly assignedTo: string | null } | null };

/** The version of every note, by request id; each write changes it. */
export async function assigneeVersions(notes: Notes): Promise<ReadonlyMap<string, number>> {
  const all = await allItems((from) => notes.list(COLLECTION, { limit: PAGE, ...from }));
  return new Map(all.map(({ key, version }) => [key, version]));
}

/** Makes the person the assignee for a while, or for longer. Throws `claimed` if another person is it. */
export async function takeRequest(
  notes: Notes,
  request: Assigned,
  person: string,
  forMs = FIVE_MINUTES,
): Promise<Assignee> {
  const recorded = recordedAssignee(request);
  refuseOthers(request.id, recorded, person);
  // It is theirs already, without an end.
  if (recorded) return recorded;
  for (;;) {
    const note = await notes.get(COLLECTION, request.id);
    refuseOthers(request.id, note && reviewerIn(note), person);
    const reviewer: Reviewer = { person, until: Date.now() + forMs };
    const options = { version: note?.version ?? 0, expiresAt: reviewer.until };
    if (await notes.put(COLLECTION, request.id, { ...reviewer }, options)) return reviewer;
  }
}

/** The person is the assignee for a while no longer. Throws `claimed` if another person is it. */
export async function releaseRequest(notes: Notes, requestId: string, person: string): Promise<void> {
  for (;;) {
    const note = await notes.get(COLLECTION, requestId);
    const reviewer = note && reviewerIn(note);
    if (!reviewer) return;
    refuseOthers(requestId, reviewer, person);
    // Kept for a while as released: other processes look only now and then and would miss a removal.
    const options = { version: note.version, expiresAt: Date.now() + FIVE_MINUTES };
    if (await notes.put(COLLECTION, requestId, RELEASED, options)) return;
  }
}

/** Removes the note: the request was decided, or the run records another assignee. */
export async function forgetReviewer(notes: Notes, requestId: string): Promise<void> {
  await notes.remove(COLLECTION, requestId);
}

/** Undefined if it was released. */
const reviewerIn = ({ value }: Note): Reviewer | undefined => (value as Reviewer | typeof RELEASED) ?? undefined;

function recordedAssignee({ progress }: Assigned): Assignee | undefined {
  const { assignedTo: person = null } = progress ?? {};
  return person === null ? undefined : { person, until: null };
}

function refuseOthers(requestId: string, assignee: Assignee | undefined, person: string): void {
  if (!assignee || assignee.person === person) return;
  const { person: other, until } = assignee;
  const message =
    until === null
      ? `${requestId} is assigned to ${other}.`
      : `${other} is reviewing ${requestId} until ${new Date(until).toISOString()}.`;
  throw new ConflictError('claimed', { requestId, assignee }, message);
}
