// A server that does not answer, or is none: said with its address, why, and what to do.
import { CommandFailure, EXIT } from '../failure.ts';

/** Where nobody answers, or somebody who is no Countersign server. */
export function notHeard(url: string, error: unknown): CommandFailure | undefined {
  const { code, status, cause } = (error ?? {}) as { code?: unknown; status?: unknown; cause?: unknown };
  if (code === 'unreachable')
    return new CommandFailure(EXIT.failure, code, `${url} cannot be reached: ${reasonOf(cause)}.`, {
      hint: `Is it running? Look with: countersign doctor --url ${url}`,
      cause: error,
    });
  if (!(error instanceof SyntaxError) && !(code === 'unknown' && typeof status === 'number')) return undefined;
  const how = typeof status === 'number' ? ` (${status})` : '';
  return new CommandFailure(EXIT.failure, 'no-server', `${url} answers, but not as a Countersign server does${how}.`, {
    hint: `Check the address, and what stands in front of the server. Look with: countersign doctor --url ${url}`,
    cause: error,
  });
}

/** A decision that nobody answered may have been recorded all the same, unless there was no connection at all. */
export function unansweredDecision(error: unknown): unknown {
  if (!(error instanceof CommandFailure) || !(error.code === 'unreachable' || error.code === 'no-server')) return error;
  if (NEVER_SENT.has(codeOf(error.cause))) return error;
  const { exitCode, code, message, hint, cause } = error;
  const unknown = 'It is not known whether the decision was recorded. Decide the same again: it is recorded once.';
  return new CommandFailure(exitCode, code, `${message} ${unknown}`, { ...(hint !== undefined && { hint }), cause });
}

const NEVER_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

function codeOf(error: unknown): unknown {
  const { cause, code } = (error ?? {}) as { cause?: unknown; code?: unknown };
  return cause === undefined ? code : codeOf(cause);
}

/** The innermost reason: what is around it only says that fetching failed. */
export function reasonOf(error: unknown): string {
  const { cause, code, message } = (error ?? {}) as { cause?: unknown; code?: unknown; message?: unknown };
  if (cause !== undefined) return reasonOf(cause);
  return typeof message === 'string' && message !== '' ? message.replace(/\.$/, '') : String(code ?? error);
}
