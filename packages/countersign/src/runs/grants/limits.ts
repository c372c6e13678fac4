// Counts calls towards the limits of rules: one note for each limit, with the calls of its time. A call is counted before it starts.
import type { Frozen } from '../../core/authority/freeze.ts';
import { counted, type LimitUse } from '../../core/authority/grants/limit.ts';
import { defined, isObject, type Json } from '../../core/json.ts';
import type { LimitedCall, NoRoom, RunGrants } from '../../loop/sink.ts';
import { bookOf, freezeId } from '../freezes/book.ts';
import { shortHash } from '../port/chain.ts';
import type { Note } from '../port/notes.ts';
import type { Store } from '../port/store.ts';
import { outcomeOfCall } from './outcomes.ts';

const LIMITS = 'limits';

/** `freezeId`: the calls beyond the limit are frozen. */
type Count = { readonly uses: readonly LimitUse[]; readonly freezeId?: string };

type CountedCall = Omit<LimitedCall, 'callId'> & { readonly key: string };

/** See `RunGrants.count`. */
export async function countTowards(
  { store, clock, tell }: { readonly store: Store; readonly clock: () => number; readonly tell: () => Promise<void> },
  call: CountedCall,
  how: Parameters<RunGrants['count']>[1],
): Promise<NoRoom | undefined> {
  const { name, limit, freezes, key } = call;
  const id = shortHash(JSON.stringify(name));
  for (let isReconciled = false; ; ) {
    const note = await store.notes.get(LIMITS, id);
    const count = countIn(note);
    // With a clock that runs ahead, calls would end to count too early.
    await tell();
    const now = clock();
    const put = (next: Count): Promise<boolean> => {
      const ends = next.freezeId === undefined ? { expiresAt: now + limit.per } : {};
      return store.notes.put(LIMITS, id, next as unknown as Json, { version: note?.version ?? 0, ...ends });
    };
    const { uses, why } = counted(limit, count.uses, { ...call, now });
    if (count.freezeId !== undefined) {
      const frozen = await standing(store, count.freezeId);
      if (frozen) return { why: 'it has frozen its calls', frozen };
      // Someone has lifted the freeze, and so the count begins again.
      if (await put({ uses: uses.filter((use) => use.key === key) })) return undefined;
      continue;
    }
    if (why !== undefined && !isReconciled) {
      isReconciled = true;
      const known = await reconciled(store, count.uses, key);
      if (known && !(await put({ ...count, uses: known }))) isReconciled = false;
      if (known) continue;
    }
    if (why === undefined || how === 'anyway') {
      if (how === 'look' || (await put({ ...count, uses }))) return undefined;
    } else if (!freezes) return { why };
    else {
      // Whoever finds the limit full at the same time makes the same freeze.
      const since = Math.max(...count.uses.map(({ at }) => at), 0) || now;
      const frozen = { id: freezeId(since, `${id} ${note?.version}`), at: now, by: null, reason: freezes.reason };
      await bookOf(store).freeze({ ...freezes, ...frozen });
      if (await put({ ...count, freezeId: frozen.id })) return { why, frozen };
    }
  }
}

/** The freeze, if nobody has lifted it. */
async function standing(store: Store, freezeId: string): Promise<Frozen | undefined> {
  const found = (await bookOf(store).read()).freezes.find(({ id }) => id === freezeId);
  return found && { id: found.id, reason: found.reason, by: found.by, at: found.at };
}

function countIn(note: Note | undefined): Count {
  const { uses, freezeId: id } = (isObject(note?.value) ? note.value : {}) as Partial<Count>;
  return defined({ uses: Array.isArray(uses) ? uses : [], freezeId: id }) as Count;
}

/** Without the calls that did not run and will not. Undefined if nothing is new. */
async function reconciled(
  store: Store,
  uses: readonly LimitUse[],
  own: string,
): Promise<readonly LimitUse[] | undefined> {
  const kept: LimitUse[] = [];
  let isNew = false;
  for (const use of uses) {
    const outcome = use.isSpent || use.key === own ? 'open' : await outcomeOfCall(store, use.key);
    if (outcome !== 'released') kept.push(outcome === 'spent' ? { ...use, isSpent: true } : use);
    isNew ||= outcome !== 'open';
  }
  return isNew ? kept : undefined;
}
