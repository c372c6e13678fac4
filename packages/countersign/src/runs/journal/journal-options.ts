// What a journal is made with.
import type { Limits } from '../../core/next.ts';
import type { State } from '../../core/state.ts';
import type { Append, NewRun, RunRecord, Store } from '../port/store.ts';

export type JournalOptions = {
  readonly store: Store;
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy' | 'version' | 'hash'>;
  /** What the store knows of the run. */
  readonly state: State;
  /** Present until the run is created. */
  readonly create?: NewRun;
  readonly token: string;
  readonly leaseMs: number;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Whether news of others is taken in before writing, or makes the write fail: a decision must be looked at again. */
  readonly onStale: 'absorb' | 'fail';
  /**
   * `hold`: the claim is held already. `take`: the first append takes it if nobody else has it. `enter`: the first append
   * is refused if somebody else has it. `none`: it is left to others.
   */
  readonly claim: 'hold' | 'take' | 'enter' | 'none';
  /** Hears of each append that is known to be durable. */
  readonly onAppended: (append: Append) => void;
};
