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
  if (NEVER_SENT.has(rootOf(error.cause).code)) return error;
  return error.saying(
    `${error.message} The decision may or may not have been recorded. Send it again: it is recorded only once.`,
  );
}

const NEVER_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** The outer errors only say that fetch failed. */
function rootOf(error: unknown): { readonly code?: unknown; readonly message?: unknown } {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return cause === undefined ? (error ?? {}) : rootOf(cause);
}

export function rootReason(error: unknown): string {
  const { code, message } = rootOf(error);
  return typeof message === 'string' && message !== '' ? message.replace(/\.$/, '') : String(code ?? error);
}
