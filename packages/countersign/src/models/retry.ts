// Retries: a model that tries again where that may help and nothing was said yet.
import { ProviderError } from '../core/errors.ts';
import { untilAborted } from './abort.ts';
import type { Model, ModelChunk } from './model.ts';

/** How often and how patiently a failing model is asked again. */
export type RetryPolicy = {
  /** How often the model is asked in all. */
  readonly attempts: number;
  /** The first wait; each further one is twice as long. */
  readonly initialDelayMs: number;
  /** No wait is longer, whatever the provider asks for. */
  readonly maxDelayMs: number;
};

export const DEFAULT_RETRY: RetryPolicy = { attempts: 3, initialDelayMs: 500, maxDelayMs: 8_000 };

/**
 * Retries after a retryable `ProviderError`. Emitted chunks cannot be taken back: once a chunk is out, the first
 * failure is final. An abort ends the wait at once, even if `sleep` ignores the signal.
 */
export function withRetries(
  model: Model,
  policy: RetryPolicy,
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
  random: () => number,
): Model {
  return {
    name: model.name,
    async reply(request, emit) {
      let emitted = false;
      const watched =
        emit &&
        ((chunk: ModelChunk) => {
          emitted = true;
          emit(chunk);
        });
      for (let attempt = 1; ; attempt++) {
        try {
          return await model.reply(request, watched);
        } catch (error) {
          const retry = error instanceof ProviderError && error.retryable && !emitted && attempt < policy.attempts;
          if (!retry) throw error;
          await untilAborted(sleep(delayOf(attempt, error, policy, random), request.signal), request.signal);
        }
      }
    },
  };
}

/** Half of the wait is chance, so that many who failed together do not come back together. */
function delayOf(attempt: number, error: ProviderError, policy: RetryPolicy, random: () => number): number {
  const backoff = Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1));
  const delay = backoff / 2 + (random() * backoff) / 2;
  const { retryAfterMs } = error.details;
  const asked = typeof retryAfterMs === 'number' ? Math.min(policy.maxDelayMs, retryAfterMs) : 0;
  return Math.max(delay, asked);
}
