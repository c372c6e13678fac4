// The error of a delivery that failed, with what the outbox must know to try it again.

/** Says why a notice was not delivered. The message is shown to people who operate the server: it must not contain a secret. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  /** False if another attempt cannot help. */
  readonly retryable: boolean;
  /** True if the person has no address on this channel. */
  readonly unreachable: boolean;
  /** How long the receiver asks to wait. */
  readonly retryAfterMs?: number;

  constructor(
    message: string,
    {
      retryable = true,
      unreachable = false,
      retryAfterMs,
      cause,
    }: { retryable?: boolean; unreachable?: boolean; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryable = retryable;
    this.unreachable = unreachable;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
