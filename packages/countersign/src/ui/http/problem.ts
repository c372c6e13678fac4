// Errors as HTTP says them: problem+json with our codes, and never more than the caller may know.
import { ConflictError, CountersignError, ProviderError, UsageError } from '../../core/errors.ts';

/** What every error looks like on the wire. */
export type HttpProblem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
};

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Too slow',
  409: 'Conflict',
  413: 'Too large',
  415: 'Unsupported media type',
  421: 'Wrong host',
  422: 'Does not fit',
  429: 'Too many requests',
  500: 'Internal error',
  502: 'The model failed',
  503: 'Not available now',
};

const UNKNOWN: ReadonlySet<string> = new Set(['unknown-run', 'unknown-interrupt', 'unknown-agent']);
/** What is wrong with the decision itself, and can be mended. */
const MISFITS: ReadonlySet<string> = new Set(['invalid-resume', 'invalid-decision', 'not-json']);

export function problemResponse(error: unknown): Response {
  const problem = problemOf(error);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  });
}

/** The error as an answer tells it, for those who answer in their own way. */
export function problemOf(error: unknown): HttpProblem {
  const known = error instanceof CountersignError ? error : undefined;
  const status = statusOf(known);
  const code = known?.code ?? 'invariant';
  return {
    type: `urn:countersign:${code}`,
    title: TITLES[status] ?? 'Error',
    status,
    code,
    detail: detailOf(known, status),
  };
}

/** What is no error of ours, and what a store or a provider says, may be nobody's business. */
function detailOf(known: CountersignError | undefined, status: number): string {
  if (known && (status < 500 || (status === 503 && known instanceof UsageError))) return known.message;
  if (status === 503) return 'The store is away. Try again later: a decision that is sent twice is recorded once.';
  if (known?.code === 'store-failed')
    return 'The store of the server failed, and trying again does not help. What was sent is not known to be recorded: whoever runs the server has to look.';
  return 'Something went wrong on the server.';
}

function statusOf(error: CountersignError | undefined): number {
  if (!error) return 500;
  const said = error.details.status;
  // An error of a hook may say anything; that it is an error, an answer must say.
  if (typeof said === 'number' && Number.isInteger(said) && said >= 400 && said < 600) return said;
  if (UNKNOWN.has(error.code)) return 404;
  if (error.code === 'not-authorized') return 401;
  if (error instanceof ConflictError) return 409;
  if (error instanceof ProviderError && error.code === 'store-failed') return error.retryable ? 503 : 500;
  if (error instanceof ProviderError) return 502;
  if (MISFITS.has(error.code)) return 422;
  // It says what a hook of the server says.
  if (error.code === 'context-failed') return 500;
  return error instanceof UsageError ? 400 : 500;
}
