// The options of a journal.
import type { Limits } from '../../core/next.ts';
import type { State } from '../../core/state.ts';
import type { Append, NewRun, RunRecord, Store } from '../port/store.ts';

/**
 * What a journal does about the claim on its run. `held`: it holds the claim already, under this token. `take`: its first
 * append takes the claim if it is free. `enter`: its first append is refused if another worker has the claim. `none`: it
 * leaves the claim to others.
 */
export type ClaimOption = { readonly held: string } | 'take' | 'enter' | 'none';

export type JournalOptions = {
  readonly store: Store;
  readonly run: Pick<RunRecord, 'id' | 'agent' | 'startedBy' | 'version' | 'hash'>;
  /** The recorded state of the run. */
  readonly state: State;
  /** Given if the first append creates the run. */
  readonly create?: NewRun;
  readonly newId: () => string;
  readonly leaseMs: number;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** `fail`: the first append is refused if someone else wrote since the run was read, so that it is checked again. */
  readonly onStale: 'absorb' | 'fail';
  readonly claim: ClaimOption;
  /** Hears of each durable append. */
  readonly onAppended: (append: Append) => void;
};
