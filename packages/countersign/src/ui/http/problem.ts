// Errors as HTTP responses: problem+json with our codes, without internal details.
import { STATUS_CODES } from 'node:http';
import { ConflictError, CountersignError, ProviderError, UsageError } from '../../core/errors.ts';

/** The JSON body of an error response. */
export type HttpProblem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
};

const UNKNOWN: ReadonlySet<string> = new Set(['unknown-run', 'unknown-request', 'unknown-agent', 'unknown-grant']);
/** The decision itself is invalid, and can be corrected. */
const INVALID_DECISION: ReadonlySet<string> = new Set([
  'invalid-resume',
  'invalid-decision',
  'invalid-grant',
  'not-json',
]);

export function problemResponse(error: unknown): Response {
  const problem = problemOf(error);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  });
}

/** The error as problem+json, for servers that send their own responses. */
export function problemOf(error: unknown): HttpProblem {
  const known = error instanceof CountersignError ? error : undefined;
  const status = statusOf(known);
  const code = known?.code ?? 'invariant';
  return {
    type: `urn:countersign:${code}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail: detailOf(known, status),
  };
}

/** Hides the messages of unknown errors, stores and providers, which may hold secrets. */
function detailOf(known: CountersignError | undefined, status: number): string {
  if (known && (status < 500 || (status === 503 && known instanceof UsageError))) return known.message;
  if (status === 503) return 'The store is unavailable. Try again later: a decision sent twice is recorded once.';
  if (known?.code === 'store-failed')
    return 'The store failed, and a retry does not help. The request may or may not be recorded: the operator must check the server.';
  return 'Something went wrong on the server.';
}

function statusOf(error: CountersignError | undefined): number {
  if (!error) return 500;
  const { status } = error.details;
  // Errors of hooks may carry any number; only an error status is used.
  if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600) return status;
  if (UNKNOWN.has(error.code)) return 404;
  if (error.code === 'not-authorized') return 401;
  if (error instanceof ConflictError) return 409;
  if (error instanceof ProviderError && error.code === 'store-failed') return error.retryable ? 503 : 500;
  if (error instanceof ProviderError) return 502;
  if (INVALID_DECISION.has(error.code)) return 422;
  // Its message comes from a hook of the server.
  if (error.code === 'context-failed') return 500;
  return error instanceof UsageError ? 400 : 500;
}
