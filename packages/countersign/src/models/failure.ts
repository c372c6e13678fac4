// Failures: whatever a provider throws becomes a ProviderError that says whether trying again may help.
import { CountersignError, ProviderError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Part } from '../core/messages/message.ts';
import type { RequestedCall } from './model.ts';

/** How far the reply had come. */
type Progress = {
  readonly model: string;
  readonly partial: readonly (Part | RequestedCall)[];
  readonly emitted: boolean;
};

/** Never carries headers or the request: they hold keys and prompts. The thrown value itself is the `cause`. */
export function failureOf(error: unknown, progress: Progress): CountersignError {
  if (error instanceof CountersignError) return error;
  const lost = isNetworkFailure(error);
  const begun = progress.partial.length > 0 || progress.emitted;
  return new ProviderError(
    lost && begun ? 'stream-cut-off' : 'provider-failed',
    { ...progress, ...responseDetails(error) },
    `The model ${progress.model} failed: ${messageOf(error)}`,
    { cause: error, retryable: lost || isRetryable(error) },
  );
}

/** The stream ended in good order, but the model never said that it had finished. */
export function cutOff(progress: Progress): ProviderError {
  const message = `The stream of the model ${progress.model} ended before the reply did.`;
  return new ProviderError('stream-cut-off', progress, message, { retryable: true });
}

const MAX_BODY = 500;

function responseDetails(error: unknown) {
  if (!isObject(error)) return {};
  const { statusCode, responseBody } = error;
  const retryAfterMs = retryAfter(error.responseHeaders);
  return {
    ...(typeof statusCode === 'number' && { statusCode }),
    ...(typeof responseBody === 'string' && { responseBody: responseBody.slice(0, MAX_BODY) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** A date is read against the date of the response itself, so no clock of ours is asked. */
function retryAfter(headers: unknown): number | undefined {
  if (!isObject(headers)) return undefined;
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const after = headers['retry-after'];
  if (typeof after !== 'string') return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number(after) * 1000;
  const wait = Date.parse(after) - Date.parse(String(headers.date));
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

function isRetryable(error: unknown): boolean {
  if (!isObject(error)) return false;
  if (typeof error.isRetryable === 'boolean') return error.isRetryable;
  if (typeof error.statusCode === 'number') return RETRYABLE_STATUS.has(error.statusCode) || error.statusCode >= 500;
  // An error in the middle of a stream has no status; its kind is in one of these words.
  const named = isObject(error.error) ? error.error : error;
  return [named.type, named.code, named.status].some((word) => typeof word === 'string' && PASSING.test(word));
}

const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429]);

const PASSING = /overloaded|rate_limit|server_error|api_error|internal|unavailable|timeout|resource_exhausted/i;

/** Somewhere down its causes the connection failed. */
function isNetworkFailure(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (at.name === 'TimeoutError') return true;
    if (at instanceof TypeError && LOST.has(at.message.toLowerCase())) return true;
    if ('code' in at && typeof at.code === 'string' && NETWORK_CODES.test(at.code)) return true;
  }
  return false;
}

const LOST: ReadonlySet<string> = new Set(['fetch failed', 'failed to fetch', 'terminated', 'network error']);

const NETWORK_CODES = /^(UND_ERR_\w+|ECONN\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)$/;

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (isObject(error) && typeof error.message === 'string' && error.message !== '') return error.message;
  if (isObject(error) && isObject(error.error)) return messageOf(error.error);
  try {
    return (JSON.stringify(error) ?? String(error)).slice(0, MAX_BODY);
  } catch {
    // Something that cannot even be written down; its kind is all there is to say.
    return Object.prototype.toString.call(error);
  }
}
