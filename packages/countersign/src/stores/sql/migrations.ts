// Both SQL stores refuse tables that a newer version of Countersign has migrated.
import { ProviderError } from '../../core/errors.ts';

export function newerTables(where: string, version: number, known: number): ProviderError {
  return new ProviderError(
    'store-failed',
    { version, known },
    `The tables in ${where} have version ${version}, but this version of Countersign knows only version ${known}. ` +
      'Nothing was changed. Update Countersign, or choose another database.',
    { retryable: false },
  );
}
