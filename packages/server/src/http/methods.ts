// The error for a method that a path does not allow.
import { UsageError } from 'countersign';

export function methodNotAllowed(method: string, allow: readonly string[]): UsageError {
  return new UsageError(
    'method-not-allowed',
    { status: 405, headers: { allow: allow.join(', ') } },
    `${method.slice(0, 20)} is not allowed here.`,
  );
}
