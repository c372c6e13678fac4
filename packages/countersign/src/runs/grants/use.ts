// How a gated call uses a grant: it reserves a use in the grant's record before the run records that the call may run.
import { type GrantedCall, maximumOf, mayUse } from '../../core/authority/grant.ts';
import { defined, type Json } from '../../core/json.ts';
import type { RunGrants } from '../../loop/sink.ts';
import { dataSchemaProblem, fitsLimited } from '../../loop/tool/data-schema.ts';
import { Turn } from '../port/in-turns.ts';
import type { NewRun, Store } from '../port/store.ts';
import { reconcile, useKey } from './outcomes.ts';
import { type GrantRecord, GrantRecords } from './records.ts';

/** What the grants of a run need. `clock` is the store's. */
type Needs = {
  readonly store: Store;
  readonly clock: () => number;
  readonly run: NewRun;
  /** The look-up for open grants, which most calls do in vain, costs no extra append. */
  readonly withNext: <T>(lookUp: Promise<T>) => Promise<T>;
};

/** The grants, for the calls of one run. */
export function grantsOf(needs: Needs): RunGrants {
  return inside(needs, new GrantRecords(needs.store.notes), []);
}

function inside(needs: Needs, records: GrantRecords, path: readonly string[]): RunGrants {
  const { store, clock, run, withNext } = needs;
  const { id: runId, agent, startedBy } = run;
  return {
    inside: (callId) => inside(needs, records, [...path, callId]),
    async use({ callId, tool, input, policies, requesters }) {
      if (policies.some((policy) => maximumOf(policy) === false)) return undefined;
      const key = useKey(runId, [...path, callId]);
      const call = { key, tool, input, startedBy, agent, policies, requesters };
      try {
        const turn = new Turn();
        for (const record of inOrder(await withNext(records.open(tool)), key)) {
          if (turn.isLong) await turn.pass();
          const used = await reserve(store, records, record, call, clock);
          if (used) return used;
        }
      } catch {
        // The store fails, and so will the question. A use that was reserved is released later: the run does not name it.
      }
      return undefined;
    },
  };
}

/** A grant with a use of this call first, then the one that expires first. */
function inOrder(records: readonly GrantRecord[], key: string): readonly GrantRecord[] {
  const isOwn = ({ state }: GrantRecord) => (state.uses.get(key)?.status === 'reserved' ? 0 : 1);
  return records.toSorted(
    (one, other) => isOwn(one) - isOwn(other) || one.state.grant.expiresAt - other.state.grant.expiresAt,
  );
}

/** Undefined if the grant does not cover the call, or has nothing left even without the calls that did not run. */
async function reserve(
  store: Store,
  records: GrantRecords,
  read: GrantRecord,
  call: Omit<GrantedCall, 'fitsSchema' | 'now'>,
  clock: () => number,
): Promise<{ readonly id: string; readonly amount?: number } | undefined> {
  const { id, schema } = read.state.grant;
  let isReconciled = false;
  for (let record = read; ; ) {
    const now = clock();
    // The schema comes last: it is the only check that can take long.
    const verdict = mayUse(record.state, { ...call, fitsSchema: true, now });
    if (verdict.ok) {
      if (!fits(schema, call.input)) return undefined;
      const { amount, isReserved } = verdict;
      const used = defined({ id, amount });
      if (isReserved) return used;
      if (await records.add(record, { type: 'reserved', at: now, ...defined({ key: call.key, amount }) })) return used;
      // Another call was first.
      record = await records.read(id);
    } else if (verdict.isFull && !isReconciled) {
      isReconciled = true;
      record = await reconcile(store, records, record, now, call.key);
    } else return undefined;
  }
}

/** A schema that cannot be checked in limited steps accepts nothing. */
export function fits(schema: { readonly [key: string]: unknown } | undefined, input: Json): boolean {
  if (schema === undefined) return true;
  return dataSchemaProblem(schema) === undefined && fitsLimited(schema, input);
}
