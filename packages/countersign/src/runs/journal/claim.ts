// The claim of a journal on its run: still wanted, held since a moment, or left to other workers.
import type { ClaimHow, Store } from '../port/store.ts';

/** A moment by two clocks of the process: one may be set back, and the steady one stops while the computer sleeps. */
export type Moment = { readonly at: number; readonly steadyAt: number };

/**
 * How a journal begins. `held`: it holds the claim already, under this token. `take`: its first append takes the claim if it
 * is free. `enter`: its first append is refused if another worker has the claim. `none`: it leaves the claim to others.
 */
export type ClaimOption = { readonly held: string } | 'take' | 'enter' | 'none';

/** Whether the next append takes the claim if it is free, or is refused if another worker has it; see `ClaimOption`. */
type State =
  | { readonly at: 'wanted'; readonly by: 'take' | 'enter' }
  | { readonly at: 'held'; readonly since: Moment }
  | { readonly at: 'none' };

export type ClaimSettings = {
  readonly store: Store;
  readonly runId: string;
  readonly newId: () => string;
  readonly leaseMs: number;
  readonly clock: () => number;
};

/** How many renewals of a run may be in flight. One may be lost with its connection; more would wait for the same one. */
const MOST_RENEWALS = 2;

export class RunClaim {
  readonly token: string;
  readonly #settings: ClaimSettings;
  #state: State;
  #renewals = 0;

  constructor(begins: ClaimOption, settings: ClaimSettings) {
    this.#settings = settings;
    const isHeld = typeof begins === 'object';
    this.token = isHeld ? begins.held : settings.newId();
    if (isHeld) this.#state = { at: 'held', since: this.now() };
    else this.#state = begins === 'none' ? { at: 'none' } : { at: 'wanted', by: begins };
  }

  get isHeld(): boolean {
    return this.#state.at === 'held';
  }

  /** The process was suspended for longer than the lease: another worker may have taken the run over. */
  get hasLapsed(): boolean {
    return this.#state.at === 'held' && hasLapsed(this.#state.since, this.now(), this.#settings.leaseMs);
  }

  now(): Moment {
    return momentBy(this.#settings.clock);
  }

  /** What an append does about the claim; `leaves` gives it up with the append. Undefined if it does nothing. */
  howTo(leaves: boolean): ClaimHow | undefined {
    switch (this.#state.at) {
      case 'held':
        return leaves ? 'release' : 'hold';
      case 'wanted':
        if (this.#state.by === 'take') return 'take';
        return leaves ? 'pass' : 'enter';
      case 'none':
        return undefined;
    }
  }

  /** An append that was sent at `asked` is written. A claim that was given up is not taken again. */
  appended(how: ClaimHow | undefined, claimed: boolean, asked: Moment): void {
    if (how === undefined || how === 'release' || how === 'pass') this.#state = { at: 'none' };
    else this.#state = claimed ? this.#heldSince(asked) : { at: 'wanted', by: 'take' };
  }

  /** False if another worker has it. Undefined if it was not renewed because it is not held, or enough renewals are in flight. */
  async renew(): Promise<boolean | undefined> {
    if (!this.isHeld || this.#renewals >= MOST_RENEWALS) return undefined;
    const { store, runId, leaseMs } = this.#settings;
    const asked = this.now();
    this.#renewals += 1;
    const isRenewed = await store.renew(runId, this.token, leaseMs).finally(() => {
      this.#renewals -= 1;
    });
    if (isRenewed && this.isHeld) this.#state = this.#heldSince(asked);
    return isRenewed;
  }

  /** The answer to a slow call may come after that to a later one, which extended the lease further. */
  #heldSince(asked: Moment): State {
    const since = this.#state.at === 'held' && this.#state.since.steadyAt > asked.steadyAt ? this.#state.since : asked;
    return { at: 'held', since };
  }

  async release(): Promise<void> {
    this.#state = { at: 'none' };
    await this.#settings.store.release(this.#settings.runId, this.token);
  }
}

export function momentBy(clock: () => number): Moment {
  return { at: clock(), steadyAt: performance.now() };
}

/** The lease has run out by either clock. */
export function hasLapsed(since: Moment, now: Moment, leaseMs: number): boolean {
  return now.at - since.at >= leaseMs || now.steadyAt - since.steadyAt >= leaseMs;
}
