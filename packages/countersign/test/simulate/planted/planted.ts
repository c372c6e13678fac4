// What a planted fault is: a small change of the sources that breaks one rule.

export type Planted = {
  readonly name: string;
  /** The promise that it breaks. */
  readonly rule: string;
  /** A file below `src`, and the text in it that is replaced. It must be there exactly once. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The simulation finds it within so many schedules. */
  readonly within: number;
};
