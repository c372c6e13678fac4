// What `simulate` takes and tells.
import type { Json } from '../../core/json.ts';
import type { Store } from '../../runs/port/store.ts';
import type { Decide } from './customers.ts';
import type { SimulatedEffect } from './world.ts';

/** One simulated process: the only way of its tools to the store and the outside. */
export type SimulatedProcess = {
  /** The store as this process reaches it: over a network that is slow, fails, and loses answers. */
  readonly store: Store;
  /**
   * Does something outside that cannot be undone. A tool calls it where it would move the money. `key` is the call's
   * `idempotencyKey`; `repeatable` says that the receiver ignores repeated keys.
   */
  effect<T extends Json>(name: string, key: string, output: T, options?: { readonly repeatable?: boolean }): Promise<T>;
  /** All effects so far, for a tool's `verify`. */
  readonly effects: readonly SimulatedEffect[];
};

/** Options of `simulate`. */
export type SimulateOptions = {
  /** How many schedules to run; 100 by default. */
  readonly schedules?: number;
  /** The seed of the first schedule; 1 by default. A failing schedule names its own. */
  readonly seed?: number;
  /** What a run begins with; `Go.` by default. */
  readonly prompt?: string;
  /** Decides a request; undefined leaves it for later. By default people approve most and reject some. */
  readonly decide?: Decide;
};

/** A schedule that broke a law. `trace`: its last events. */
export type SimulatedFailure = {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly trace: readonly string[];
};

export type SimulationReport = {
  readonly schedules: number;
  readonly runs: number;
  readonly effects: number;
  /** How often a process died. */
  readonly crashes: number;
  /** The calls whose outcome a person was asked about. */
  readonly doubts: number;
  /** The schedules that broke a law; empty if all is well. */
  readonly failures: readonly SimulatedFailure[];
};
