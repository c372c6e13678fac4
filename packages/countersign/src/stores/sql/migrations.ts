// What the migrations of both SQL stores have in common: forward only, and never on tables of a newer version.
import { ProviderError } from '../../core/errors.ts';

export function newerTables(where: string, version: number, known: number): ProviderError {
  return new ProviderError(
    'store-failed',
    { version, known },
    `The tables in ${where} are of version ${version}; this version of Countersign knows them up to ${known}. ` +
      'Nothing was touched. Update Countersign, or choose another database.',
    { retryable: false },
  );
}
