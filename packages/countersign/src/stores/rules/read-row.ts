// Rows that cannot be read: someone edited the database, or the disk damaged it.
import { ProviderError } from '../../core/errors.ts';

/** Turns whatever `read` throws into one error that names the row. Lists skip such a row with a warning. */
export function readRow<T>(kind: 'run' | 'request' | 'note', id: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const message = `The row of ${kind} ${id} cannot be read: someone edited the database, or the disk damaged it. Restore it from a backup.`;
    throw new ProviderError('store-failed', { [`${kind}Id`]: id }, message, { cause, retryable: false });
  }
}
