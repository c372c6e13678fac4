// The virtual object of a run: its events, its claim and its requests. Each handler is short, and no tool runs inside one.
import * as restate from '@restatedev/restate-sdk';
import { ConflictError, InvariantError } from 'countersign';
import {
  type Claim,
  claimAfter,
  mayTake,
  type ReadOptions,
  type RequestRecord,
  type RunRecord,
  readEventLimit,
  refusalOf,
  takeClaim,
} from 'countersign/store';
import { addEvents, readEvents, readTail } from './events.ts';
import type { HandlerClock } from './handler-clock.ts';
import { SHORT } from './handler-options.ts';
import {
  type AppendAnswer,
  type AppendHead,
  type Change,
  type ClaimRequest,
  json,
  lines,
  listsName,
  loadedText,
  type Refusal,
  type RunSummary,
  readAppendRequest,
  runName,
} from './wire.ts';

/** What the object keeps beside events and requests. `deleted`: only the id is left. */
type Kept = { readonly record: RunRecord; readonly claim: Claim | null } | { readonly deleted: true };

const KEPT = 'run';
const QUESTION = 'question-';

/** Makes the object. `name` is the name that all services of this store begin with. */
export function runObject(name: string, clock: HandlerClock) {
  const project = (ctx: restate.ObjectContext, change: Change): void =>
    void ctx.genericSend({
      ...{ service: listsName(name), method: 'apply', key: ctx.key, parameter: change },
      inputSerde: json,
    });

  async function append(ctx: restate.ObjectContext, text: string): Promise<AppendAnswer> {
    const { notAfter, freezes, head, events } = readAppendRequest(text);
    const { expectedVersion } = head;
    // Everything is asked for at once: each answer alone would be one more round trip.
    const asking = { now: clock(ctx), kept: ctx.get<Kept>(KEPT), tail: readTail(ctx, expectedVersion) };
    const { progressed = [], ended = [] } = head;
    const ids = new Set([...head.opened, ...head.settled, ...progressed, ...ended].map(({ id }) => id));
    const questions = await questionsOf(ctx, [...ids]);
    const [now, kept, tail] = [await asking.now, await asking.kept, await asking.tail];
    if (now > notAfter) return { tooLate: true, at: now };

    const at = head.at ?? now;
    const before = kept !== null && 'record' in kept ? kept : undefined;
    const held = before?.claim ?? undefined;
    const stored = {
      run:
        kept !== null && 'deleted' in kept
          ? ('deleted' as const)
          : before && { version: before.record.version, claim: held },
      isInterrupt: (id: string) => questions.has(id),
      isPending: (id: string) => questions.get(id)?.settledAt === null,
      freezes,
    };
    const refusal = refusalOf({ ...head, events: [] }, stored, at);
    if (refusal) return { refused: refusalText(refusal), at: now };

    const claim = claimAfter({ ...head, events: [] }, held, at) ?? null;
    const record = recordAfter(head, before?.record, events.length, at);
    addEvents(ctx, expectedVersion, tail, events);
    ctx.set<Kept>(KEPT, { record, claim });
    for (const question of head.opened) {
      const { startedBy } = record;
      const { progress = null, settlement = null, outcome = null } = question;
      const settledAt = question.settlement === undefined ? null : at;
      const kept = { startedBy, progress, settledAt, settlement, outcome };
      ctx.set<RequestRecord>(QUESTION + question.id, { ...question, ...kept });
    }
    for (const { id, settlement, outcome = null } of head.settled) {
      const question = questions.get(id) as RequestRecord;
      ctx.set<RequestRecord>(QUESTION + id, { ...question, settledAt: at, settlement, outcome });
    }
    for (const { id, ...changed } of [...progressed, ...ended]) {
      const question = questions.get(id);
      if (question) ctx.set<RequestRecord>(QUESTION + id, { ...question, ...changed });
    }
    // The lists have versions of their own for what is frozen.
    const { claim: _, freezes: __, ...copied } = head;
    project(ctx, { append: { ...copied, at, added: events.length }, ...claimChange(held, claim, at) });
    return { claimed: head.claim !== undefined && claim?.token === head.claim.token, at: now };
  }

  async function read(ctx: restate.ObjectSharedContext, { after = 0, limit }: ReadOptions): Promise<string> {
    const kept = await ctx.get<Kept>(KEPT);
    if (kept === null || 'deleted' in kept) return '';
    const { record } = kept;
    const { events, isTorn } = await readEvents(ctx, record.version, after, readEventLimit(limit));
    // Reads do not keep others from writing. Events are only ever added, so a page is of one moment, unless the run was deleted.
    if (isTorn && 'deleted' in ((await ctx.get<Kept>(KEPT)) ?? {})) return '';
    return loadedText(record, events);
  }

  async function claim(ctx: restate.ObjectContext, request: ClaimRequest): Promise<string> {
    const asking = ctx.get<Kept>(KEPT);
    const now = await clock(ctx);
    const kept = await asking;
    if (kept === null || 'deleted' in kept || now > request.notAfter) return '';
    const held = kept.claim ?? undefined;
    if (!mayTake(request.token, held, now)) return '';
    const taken = takeClaim(request.token, request.leaseMs, now);
    ctx.set<Kept>(KEPT, { ...kept, claim: taken });
    project(ctx, claimChange(held, taken, now));
    return read(ctx, {});
  }

  async function renew(ctx: restate.ObjectContext, { token, leaseMs }: ClaimRequest): Promise<boolean> {
    const asking = ctx.get<Kept>(KEPT);
    const now = await clock(ctx);
    const kept = await asking;
    if (kept === null || 'deleted' in kept || kept.claim?.token !== token) return false;
    const taken = takeClaim(token, leaseMs, now);
    ctx.set<Kept>(KEPT, { ...kept, claim: taken });
    project(ctx, claimChange(kept.claim, taken, now));
    return true;
  }

  async function release(ctx: restate.ObjectContext, { token }: { readonly token: string }): Promise<void> {
    const kept = await ctx.get<Kept>(KEPT);
    if (kept === null || 'deleted' in kept || kept.claim?.token !== token) return;
    ctx.set<Kept>(KEPT, { ...kept, claim: null });
    project(ctx, claimChange(kept.claim, null, 0));
  }

  async function remove(ctx: restate.ObjectContext): Promise<boolean> {
    const asking = ctx.get<Kept>(KEPT);
    const now = await clock(ctx);
    const kept = await asking;
    if (kept === null || 'deleted' in kept) return false;
    const { record, claim } = kept;
    const held = claim ?? undefined;
    if ((record.status !== 'done' && record.status !== 'cancelled') || !mayTake('', held, now)) return false;
    ctx.clearAll();
    ctx.set<Kept>(KEPT, { deleted: true });
    project(ctx, { ...claimChange(held, null, now), deleted: true });
    return true;
  }

  async function summary(ctx: restate.ObjectSharedContext): Promise<RunSummary | null> {
    const kept = await ctx.get<Kept>(KEPT);
    if (kept === null || 'deleted' in kept) return null;
    const keys = (await ctx.stateKeys()).filter((key) => key.startsWith(QUESTION));
    return { ...kept, requestIds: keys.map((key) => key.slice(QUESTION.length)) };
  }

  const questions = async (
    ctx: restate.ObjectSharedContext,
    ids: readonly string[],
  ): Promise<readonly RequestRecord[]> => [...(await questionsOf(ctx, ids)).values()];

  const { exclusive, shared } = restate.handlers.object;
  return restate.object({
    name: runName(name),
    handlers: {
      append: exclusive({ ...SHORT, input: lines }, append),
      claim: exclusive({ ...SHORT, output: lines }, claim),
      renew: exclusive(SHORT, renew),
      release: exclusive(SHORT, release),
      remove: exclusive(SHORT, remove),
      read: shared({ ...SHORT, output: lines }, read),
      // Queues behind every change that was sent before it, and so tells what became of them.
      readInLine: exclusive({ ...SHORT, output: lines }, read),
      questions: shared(SHORT, questions),
      summary: shared(SHORT, summary),
    },
  });
}

async function questionsOf(
  ctx: restate.ObjectSharedContext,
  ids: readonly string[],
): Promise<Map<string, RequestRecord>> {
  const asked = ids.map((id) => ctx.get<RequestRecord>(QUESTION + id));
  const found = new Map<string, RequestRecord>();
  for (const [index, asking] of asked.entries()) {
    const question = await asking;
    // Those of earlier versions have no progress and no outcome.
    if (question !== null)
      found.set(ids[index] ?? '', {
        ...question,
        progress: question.progress ?? null,
        outcome: question.outcome ?? null,
      });
  }
  return found;
}

function recordAfter(head: AppendHead, before: RunRecord | undefined, added: number, at: number): RunRecord {
  const { runId: id, create, hash, status, wakeAt, outcome } = head;
  const { agent = '', startedBy = null, createdAt } = before ?? { ...create, createdAt: at };
  const version = head.expectedVersion + added;
  return { id, agent, status, version, hash, startedBy, createdAt, updatedAt: at, wakeAt, outcome };
}

/** What the lists need to know of the claim. */
function claimChange(before: Claim | undefined, after: Claim | null, now: number): Pick<Change, 'claim' | 'freed'> {
  return {
    claim: after && { token: after.token, leaseMs: after.until - now },
    freed: before !== undefined && before.token !== after?.token ? before.token : null,
  };
}

function refusalText(error: Error): Refusal {
  if (!(error instanceof ConflictError) && !(error instanceof InvariantError)) throw error;
  const { code, details, message } = error;
  return { type: error instanceof ConflictError ? 'conflict' : 'invariant', code, details, message };
}
