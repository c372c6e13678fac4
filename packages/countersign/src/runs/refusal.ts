// Who was in the way of a write.
import { ConflictError } from '../core/errors.ts';

/** Undefined when it was written; otherwise who was in the way: one who wrote first, or one who drives the run. */
export async function refusalOf(writing: Promise<void>): Promise<'stale-version' | 'claim-lost' | undefined> {
  try {
    await writing;
    return undefined;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    if (error.code === 'stale-version' || error.code === 'claim-lost') return error.code;
    throw error;
  }
}
