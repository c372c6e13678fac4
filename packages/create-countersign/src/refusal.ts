// A failure that the user can fix. Its message says how.

export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** 1 for a failure, 2 for wrong usage, 130 if the user pressed Ctrl-C. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
