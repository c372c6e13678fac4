// The error of a delivery that failed, with what the outbox must know to try it again.

/** Says why a notice was not delivered. The message is shown to people who operate the server: it must not contain a secret. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  /** False if another attempt cannot help. */
  readonly retryable: boolean;
  /** How long the receiver asks to wait. */
  readonly retryAfterMs?: number;

  constructor(
    message: string,
    {
      retryable = true,
      retryAfterMs,
      cause,
    }: { retryable?: boolean; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryable = retryable;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
