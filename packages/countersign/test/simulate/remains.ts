// What is left of a schedule, for its laws.
import type { Undoing } from '../../src/runs/undo/undoing.ts';
import type { Left } from '../../src/testing/simulate/laws.ts';
import type { Told } from './bank.ts';
import type { Claims } from './claims.ts';
import type { Started } from './clients.ts';
import type { Controls } from './controls/controls.ts';
import type { Counts } from './controls/counts.ts';
import type { Acts } from './people.ts';

/** Everything that is left of a schedule. */
export type Remains = Left & {
  readonly acts: Acts;
  readonly starts: Claims['starts'];
  readonly started: readonly Started[];
  readonly undoings: readonly Undoing[];
  readonly told: readonly Told[];
  readonly grants: readonly KeptGrant[];
  /** Since when the channel is known in the store. */
  readonly toldSince: number;
  readonly maxTurns: number;
  readonly controls: Controls;
  readonly counts: Counts;
};

/** What the note of a grant says. */
export type KeptGrant = {
  readonly id: string;
  readonly uses: number;
  readonly total: number;
  readonly expiresAt: number;
  readonly requestId: string;
};
