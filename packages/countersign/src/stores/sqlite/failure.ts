// What goes wrong with a SQLite file, as an error that says what to do.
import { CountersignError, ProviderError } from '../../core/errors.ts';

/** Somebody else is writing: the same call may work at once. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** It is the file that is wrong, or in use, not what was asked for. */
export function isOfFile(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && KNOWN.has(code);
}

/** The file is wrong, and may be put right. */
export function opensAnew(error: unknown): boolean {
  return isOfFile(error) && !isBusy(error);
}

/** The error of a store whose file is `path`; errors that are ours already are left as they are. */
export function sqliteFailure(error: unknown, path: string): CountersignError {
  if (error instanceof CountersignError) return error;
  const code = resultCode(error);
  const known = code === undefined ? undefined : KNOWN.get(code);
  const said = error instanceof Error ? error.message : String(error);
  const what = (known?.what ?? whatOf(error, said)).replace('%', () => path);
  return new ProviderError('store-failed', { path, sqliteCode: code ?? null }, `${what} (${said}).`, {
    cause: error,
    retryable: known?.retryable ?? false,
  });
}

const OTHER_TABLES =
  'The tables in % are not those of Countersign, or not all of them are there; choose another file, or put a backup in its place';

const CHANGED_NUMBER =
  'A number in % is not one that was written there: somebody changed the store, or the disk did. Look at a backup';

function whatOf(error: unknown, said: string): string {
  // Node reads no whole numbers that JavaScript has not.
  if ((error as { code?: unknown } | undefined)?.code === 'ERR_OUT_OF_RANGE') return CHANGED_NUMBER;
  return isOfTables(said) ? OTHER_TABLES : 'The store % failed';
}

/** SQLite has one code for these and all other mistakes of a statement. */
function isOfTables(said: string): boolean {
  return /^no such (table|column)|^(table|view|index) .* already exists/.test(said);
}

/** The file that is open, or `beside` it, is not the one at its path any more. It stays so until the process is started again. */
export function movedFile(path: string, beside?: string): ProviderError {
  const then = beside === undefined ? 'put the right file there, and start them again' : 'then start them again';
  const message = `${beside ?? path} was replaced or deleted while this process had ${beside === undefined ? 'it' : path} open. Nothing was written. Stop all processes that use it, ${then}.`;
  return new ProviderError('store-failed', { path }, message, { retryable: false });
}

/** Others may write to a log of their own, which is not seen here. */
export function twoNames(path: string, how: 'link' | 'mount'): ProviderError {
  const [what, advice] =
    how === 'link'
      ? ['has another name (a hard link)', 'Remove the other name, or make a copy of the file']
      : ['is mounted alone, without its folder', 'Mount the folder that it is in'];
  const message = `${path} ${what}. The newest data is in a log beside each name, and who uses one does not see that of the other. ${advice}.`;
  return new ProviderError('store-failed', { path }, message, { retryable: false });
}

const BUSY = 5;
const LOCKED = 6;

/** By SQLite's primary result code. */
const KNOWN: ReadonlyMap<number, { readonly what: string; readonly retryable: boolean }> = new Map([
  [BUSY, { what: '% is being written to by somebody else for too long; try again', retryable: true }],
  [LOCKED, { what: '% is being written to by somebody else for too long; try again', retryable: true }],
  [8, { what: '% can only be read; give this process the right to write the file and its folder', retryable: false }],
  [10, { what: '% cannot be read or written; look at the disk', retryable: true }],
  [11, { what: '% is damaged; stop all processes that use it, then put a backup in its place', retryable: false }],
  [13, { what: 'The disk of % is full; make room and try again', retryable: true }],
  [14, { what: '% cannot be opened; make sure that its folder exists and may be written to', retryable: false }],
  // SQLite itself has tried for ten seconds.
  [15, { what: '% is held by somebody else who stopped in the middle of a write; try again', retryable: true }],
  [26, { what: '% is no SQLite database; choose another file', retryable: false }],
]);

/** Node puts SQLite's extended result code on its errors; its low byte is the primary one. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
