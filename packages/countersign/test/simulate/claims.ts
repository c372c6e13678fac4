// Who has the claim on each run, as the calls to the store say: one worker drives a run, and a body begins only under its claim.
import type { Append, Store } from '../../src/runs/port/store.ts';
import type { Machine } from '../../src/testing/simulate/timeline.ts';
import { startsIn } from './starts.ts';

type Held = { readonly token: string; readonly until: number };
type Claim = NonNullable<Append['claim']>;

export class Claims {
  readonly problems: string[] = [];
  /** When each append with starts was sent, and when it was answered. */
  readonly starts: { readonly callId: string; readonly from: number; readonly to: number }[] = [];
  readonly #held = new Map<string, Held>();
  readonly #owners = new Map<string, Machine>();
  /** The runs of the calls that have started. */
  readonly #runs = new Map<string, string>();
  #now: () => number = () => 0;

  /** The store, with an eye on its claims. It expects what the port promises, not what the store does. */
  watched(store: Store, now: () => number): Store {
    this.#now = now;
    return {
      ...store,
      append: async (append) => {
        const from = now();
        const appended = await store.append(append);
        for (const callId of startsIn(append.events)) {
          this.#runs.set(callId, append.runId);
          this.starts.push({ callId, from, to: now() });
        }
        if (append.claim) this.#appended(append.runId, append.claim, appended.claimed, append.expectedVersion === 0);
        return appended;
      },
      claim: async (runId, token, leaseMs) => {
        const loaded = await store.claim(runId, token, leaseMs);
        if (loaded) this.#take(runId, token, leaseMs);
        return loaded;
      },
      renew: async (runId, token, leaseMs) => {
        const isRenewed = await store.renew(runId, token, leaseMs);
        if (isRenewed && this.#held.get(runId)?.token !== token) this.#problem(runId, token, 'renewed');
        if (isRenewed) this.#take(runId, token, leaseMs);
        return isRenewed;
      },
      release: async (runId, token) => {
        await store.release(runId, token);
        if (this.#held.get(runId)?.token === token) this.#held.delete(runId);
      },
      delete: async (runId) => {
        const isDeleted = await store.delete(runId);
        if (isDeleted) this.#held.delete(runId);
        return isDeleted;
      },
    };
  }

  /** The store as one process has it: its tokens are its own. */
  of(machine: Machine, store: Store): Store {
    const own = (token: string) => void this.#owners.set(token, machine);
    return {
      ...store,
      // A cache that is kept by them is of this process only.
      notes: ownNotes(store.notes),
      append: (append) => {
        if (append.claim) own(append.claim.token);
        return store.append(append);
      },
      claim: (runId, token, leaseMs) => {
        own(token);
        return store.claim(runId, token, leaseMs);
      },
    };
  }

  /** The body of this call begins on a process, which must have the claim and not only think so. */
  begins(callId: string, machine: Machine): void {
    const runId = this.#runs.get(callId);
    if (runId === undefined) {
      this.problems.push(`the body of ${callId} began on ${machine.name} before its start was recorded`);
      return;
    }
    const held = this.#held.get(runId);
    const owner = held && this.#owners.get(held.token);
    if (held && owner === machine && held.until > this.#now()) return;
    const who = owner === machine ? 'its lease was over' : `${owner?.name ?? 'nobody'} had the claim`;
    this.problems.push(`the body of ${callId} in ${runId} began on ${machine.name}, and ${who}`);
  }

  #appended(runId: string, { how, token, leaseMs }: Claim, claimed: boolean, isNew: boolean): void {
    const held = this.#held.get(runId);
    const isOwn = held?.token === token;
    const isFree = held === undefined || held.until <= this.#now();
    const mayHold = isOwn || (isNew && held === undefined);
    if ((how === 'hold' || how === 'release') && !mayHold) this.#problem(runId, token, `wrote (${how})`);
    if ((how === 'enter' || how === 'pass') && !isOwn && !isFree) this.#problem(runId, token, `wrote (${how})`);
    if (how === 'release' || how === 'pass') this.#held.delete(runId);
    else if (claimed) this.#take(runId, token, leaseMs);
  }

  #take(runId: string, token: string, leaseMs: number): void {
    const held = this.#held.get(runId);
    if (held && held.token !== token && held.until > this.#now()) this.#problem(runId, token, 'took the claim');
    this.#held.set(runId, { token, until: this.#now() + Math.ceil(leaseMs) });
  }

  #problem(runId: string, token: string, what: string): void {
    const held = this.#held.get(runId);
    const name = (one = '') => this.#owners.get(one)?.name ?? 'nobody';
    this.problems.push(`${name(token)} ${what} on ${runId}, and ${name(held?.token)} had the claim`);
  }
}

const ownNotes = (notes: Store['notes']): Store['notes'] => ({
  get: (...given) => notes.get(...given),
  put: (...given) => notes.put(...given),
  remove: (...given) => notes.remove(...given),
  getMany: (...given) => notes.getMany(...given),
  list: (...given) => notes.list(...given),
});
