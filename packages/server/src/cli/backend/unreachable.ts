// Errors for a server that does not respond, or is not a Countersign server.
import { CommandFailure, EXIT } from '../failure.ts';

/** Returns a failure if the server did not respond, or responded with something else. */
export function unreachableFailure(url: string, error: unknown): CommandFailure | undefined {
  const { code, status, cause } = (error ?? {}) as { code?: unknown; status?: unknown; cause?: unknown };
  if (code === 'unreachable')
    return new CommandFailure(EXIT.failure, code, `Cannot reach ${url}: ${rootReason(cause)}.`, {
      hint: `Is it running? Check with: countersign doctor --url ${url}`,
      cause: error,
    });
  if (!(error instanceof SyntaxError) && !(code === 'unknown' && typeof status === 'number')) return undefined;
  const how = typeof status === 'number' ? ` (${status})` : '';
  return new CommandFailure(EXIT.failure, 'no-server', `${url} is not a Countersign server${how}.`, {
    hint: `Check the address and any proxy in front of it, or run: countersign doctor --url ${url}`,
    cause: error,
  });
}

/** A decision without a response may have been recorded, unless the connection was never made. */
export function unansweredDecision(error: unknown): unknown {
  if (!(error instanceof CommandFailure) || !(error.code === 'unreachable' || error.code === 'no-server')) return error;
  if (NEVER_SENT.has(codeOf(error.cause))) return error;
  return error.saying(
    `${error.message} The decision may or may not have been recorded. Send it again: it is recorded only once.`,
  );
}

const NEVER_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

function codeOf(error: unknown): unknown {
  const { cause, code } = (error ?? {}) as { cause?: unknown; code?: unknown };
  return cause === undefined ? code : codeOf(cause);
}

/** Returns the innermost reason: the outer errors only say that fetch failed. */
export function rootReason(error: unknown): string {
  const { cause, code, message } = (error ?? {}) as { cause?: unknown; code?: unknown; message?: unknown };
  if (cause !== undefined) return rootReason(cause);
  return typeof message === 'string' && message !== '' ? message.replace(/\.$/, '') : String(code ?? error);
}
