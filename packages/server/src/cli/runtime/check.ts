// One check of the doctor. `unknown`: nothing is wrong, but there was nothing to check.
export type Check = {
  readonly name: string;
  readonly status: 'ok' | 'fail' | 'unknown';
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
};
