// How a gated call uses a grant, in this order: the call is in the record of its run, a use is reserved in the record of the
// grant, the run records that the call was granted, the grant is read once more, and the call starts.
import { type Grant, type GrantedCall, mayUse } from '../../core/authority/grants/grant.ts';
import { forbidsPlans } from '../../core/authority/policy.ts';
import { defined } from '../../core/json.ts';
import { isThenable } from '../../core/options.ts';
import type { ApprovedPlan, GatedCall, LimitedCall, NoRoom, RunGrants } from '../../loop/sink.ts';
import { Turn } from '../port/in-turns.ts';
import type { NewRun, Store } from '../port/store.ts';
import { digestOfInput, fits } from './give.ts';
import { countTowards } from './limits.ts';
import { approvalOf, reconcile, useKey } from './outcomes.ts';
import { givePlan } from './plans.ts';
import { type GrantRecord, GrantRecords } from './records.ts';

/** What the grants of a run need. `clock` is the store's. */
type Needs = {
  readonly store: Store;
  readonly clock: () => number;
  /** Asks the store for its time, unless that is known. */
  readonly tell: () => Promise<void>;
  readonly run: NewRun;
  /** Grants that were given before this moment of the steady clock count, wherever they were given. */
  readonly since: number;
  /** The look-up for open grants, which most calls do in vain, costs no extra append. */
  readonly withNext: <T>(lookUp: Promise<T>) => Promise<T>;
  /** Resolves once all events of the run are durable; rejects if another worker may have the run. */
  readonly flushed: () => Promise<void>;
};

/** The grants, for the calls of one run. */
export function grantsOf(needs: Needs): RunGrants {
  return new GrantsOfRun(needs, []);
}

type Used = { readonly id: string; readonly amount?: number; readonly by: string };

class GrantsOfRun implements RunGrants {
  readonly #needs: Needs;
  readonly #records: GrantRecords;
  readonly #path: readonly string[];

  constructor(needs: Needs, path: readonly string[]) {
    this.#needs = needs;
    this.#records = new GrantRecords(needs.store.notes);
    this.#path = path;
  }

  inside(callId: string): RunGrants {
    return new GrantsOfRun(this.#needs, [...this.#path, callId]);
  }

  use(call: GatedCall): Promise<Used | undefined> {
    return this.#find(call, true);
  }

  async covers(call: GatedCall): Promise<boolean> {
    return (await this.#find(call, false)) !== undefined;
  }

  async count({ callId, ...call }: LimitedCall, how: Parameters<RunGrants['count']>[1]): Promise<NoRoom | undefined> {
    // A count without a recorded call could not be told from one that is about to be recorded.
    if (how !== 'look') await this.#needs.flushed();
    return countTowards(this.#needs, { ...call, key: this.#keyOf(callId) }, how);
  }

  givePlan(plan: ApprovedPlan): Promise<number> {
    const [outer] = this.#path;
    const requestId = outer === undefined ? plan.requestId : `${outer}.${plan.ref}`;
    return givePlan(this.#needs.store, this.#needs.run, { ...plan, requestId });
  }

  async stands(requestId: string, grantId: string): Promise<boolean> {
    const { clock, flushed } = this.#needs;
    try {
      await flushed();
      const { grant, uses, revoked } = (await this.#records.read(grantId)).state;
      return !revoked && clock() < grant.expiresAt && uses.has(this.#keyOf(requestId));
    } catch {
      return false;
    }
  }

  #keyOf(requestId: string): string {
    return useKey(this.#needs.run.id, [...this.#path, requestId]);
  }

  async #find(
    { requestId, tool, input, origins, policies, requesters }: GatedCall,
    reserves: boolean,
  ): Promise<Used | undefined> {
    if (policies.some(forbidsPlans)) return undefined;
    const { run, since, withNext } = this.#needs;
    const { agent, startedBy } = run;
    const call = { key: this.#keyOf(requestId), tool, input, origins, startedBy, agent, policies, requesters };
    try {
      const isAny = this.#records.isAnyOpen(since);
      if (!(isThenable(isAny) ? await withNext(isAny) : isAny)) return undefined;
      const turn = new Turn();
      for (const record of inOrder(await withNext(this.#records.open(tool)), call.key)) {
        if (turn.isLong) await turn.pass();
        const used = await this.#take(record, call, reserves);
        if (used) return used;
      }
    } catch {
      // The store fails, and so will the request. A use that was reserved is released by the record of the request.
    }
    return undefined;
  }

  /** Undefined if the grant does not cover the call, or has nothing left even without the calls that did not run. */
  async #take(
    read: GrantRecord,
    call: Omit<GrantedCall, 'fitsSchema' | 'now'>,
    reserves: boolean,
  ): Promise<Used | undefined> {
    const { store, clock, flushed } = this.#needs;
    const { id, inputDigest } = read.state.grant;
    if (inputDigest !== undefined && inputDigest !== digestOfInput(call.input)) return undefined;
    let isReconciled = false;
    for (let record = read; ; ) {
      const now = clock();
      // The schema comes last: it is the only check that can take long.
      const verdict = mayUse(record.state, { ...call, fitsSchema: true, now });
      if (verdict.ok) {
        if (!fits(record.state.grant, call.input) || !(await isApproved(store, this.#records, record.state.grant, now)))
          return undefined;
        const { amount, isReserved } = verdict;
        const used = defined({ id, amount, by: record.state.grant.givenBy });
        if (isReserved || !reserves) return used;
        // A use without a recorded call could not be told from one that is about to be recorded.
        await flushed();
        if (await this.#records.add(record, { type: 'reserved', at: now, ...defined({ key: call.key, amount }) }))
          return used;
        // Another call was first.
        record = await this.#records.read(id);
      } else if (verdict.isFull && !isReconciled) {
        isReconciled = true;
        record = await reconcile(store, this.#records, record, now, call.key);
      } else return undefined;
    }
  }
}

/** A grant with a use of this call first, then the one that expires first. */
function inOrder(records: readonly GrantRecord[], key: string): readonly GrantRecord[] {
  const isOwn = ({ state }: GrantRecord) => (state.uses.has(key) ? 0 : 1);
  return records.toSorted(
    (one, other) => isOwn(one) - isOwn(other) || one.state.grant.expiresAt - other.state.grant.expiresAt,
  );
}

/** The grants whose call has run: their approval cannot change, so its run is not read again. */
const FINAL = new WeakMap<Store, Set<string>>();

/** False if the call that the grant came with was asked about again since. A grant whose call was rejected is revoked. */
export async function isApproved(store: Store, records: GrantRecords, grant: Grant, at: number): Promise<boolean> {
  const known = FINAL.get(store) ?? new Set();
  if (known.has(grant.id)) return true;
  const approval = await approvalOf(store, grant);
  if (approval === 'final') FINAL.set(store, known.add(grant.id));
  if (approval !== 'rejected') return approval !== 'pending';
  const { state } = await records.change(grant.id, ({ revoked }) =>
    revoked ? undefined : { type: 'revoked', by: null, at, reason: 'The call that it came with was rejected.' },
  );
  await records.close(state);
  return false;
}
