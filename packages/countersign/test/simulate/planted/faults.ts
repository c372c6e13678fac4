// The planted faults: small changes of the sources that break one rule each. The simulation must find every one of them.

export type Planted = {
  readonly name: string;
  /** What the rule is, in the words of docs/design.md where it has one. */
  readonly rule: string;
  /** A file below `src`, and the text in it that is replaced. It must be there exactly once. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The simulation finds it within so many schedules. */
  readonly within: number;
};

export const PLANTED: readonly Planted[] = [];
