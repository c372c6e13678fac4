// Errors as HTTP says them: problem+json with our codes, and never more than the caller may know.
import { ConflictError, CountersignError, ProviderError, UsageError } from '../core/errors.ts';

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
  422: 'Does not fit',
  500: 'Internal error',
  502: 'The model failed',
  503: 'Not available now',
};

export function problemResponse(error: unknown): Response {
  const known = error instanceof CountersignError ? error : undefined;
  const status = statusOf(known);
  const body = {
    type: `urn:countersign:${known?.code ?? 'invariant'}`,
    title: TITLES[status] ?? 'Error',
    status,
    code: known?.code ?? 'invariant',
    // What is no error of ours may say things that are nobody's business.
    detail: known && status < 500 ? known.message : 'Something went wrong on the server.',
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  });
}

function statusOf(error: CountersignError | undefined): number {
  if (!error) return 500;
  const said = error.details.status;
  if (typeof said === 'number') return said;
  if (error.code === 'unknown-run' || error.code === 'unknown-interrupt') return 404;
  if (error instanceof ConflictError) return 409;
  if (error instanceof ProviderError) return error.code === 'store-failed' ? 503 : 502;
  return error instanceof UsageError ? 400 : 500;
}
