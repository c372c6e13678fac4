// Why a call failed: it did nothing, it may have acted, or nobody can know.
import { messageOf, NotPerformed, OutcomeUnknown } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

/**
 * An error that the server sent is a failure of the call, which may have acted. Without an answer of the server, its outcome is
 * unknown.
 */
export function failureOf(error: unknown): unknown {
  if (
    error instanceof NotPerformed ||
    error instanceof ServerFault ||
    error instanceof LostRequest ||
    error instanceof LostTask
  )
    return error;
  const { code, status } = isObject(error) ? (error as { code?: unknown; status?: unknown }) : {};
  // Errors of JSON-RPC have numbers, those of the SDK have names.
  if (typeof code === 'number') return error;
  if (NOT_SENT.has(code)) return new NotPerformed(messageOf(error), { cause: error });
  if (typeof status === 'number' && status >= 400 && status < 500) return error;
  return new OutcomeUnknown(`No answer of the server: ${messageOf(error)}`, { cause: error });
}

const NOT_SENT: ReadonlySet<unknown> = new Set([
  'NOT_CONNECTED',
  'CAPABILITY_NOT_SUPPORTED',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
]);

/** The server answered with something that cannot be used. */
export class ServerFault extends Error {}

/** The server runs the call as this task, and cannot be asked about it. */
export class LostTask extends Error {
  constructor(taskId: string, cause: unknown) {
    super(`Its server runs it as the task ${taskId}, and cannot be asked about it: ${messageOf(cause)}`, { cause });
  }
}

/** The process that held the open request of an older server is gone, and so is the request. */
export class LostRequest extends Error {
  override readonly message = 'The server had asked a question, and the connection that waited for the answer is lost.';
}
