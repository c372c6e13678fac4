// Failures of a SQLite file as errors that say what to do.
import { CountersignError, ProviderError } from '../../core/errors.ts';

/** Another process is writing; a retry may succeed at once. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** The file is the problem, not the statement. */
export function isOfFile(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && KNOWN.has(code);
}

/** The file is broken and may be repaired. */
export function mayBeRepaired(error: unknown): boolean {
  return isOfFile(error) && !isBusy(error);
}

/** Wraps a failure of the file `path`. Our own errors pass unchanged. */
export function sqliteFailure(error: unknown, path: string): CountersignError {
  if (error instanceof CountersignError) return error;
  const code = resultCode(error);
  const known = code === undefined ? undefined : KNOWN.get(code);
  const said = error instanceof Error ? error.message : String(error);
  const what = (known?.what ?? whatOf(said)).replace('%', () => path);
  return new ProviderError('store-failed', { path, sqliteCode: code ?? null }, `${what} (${said}).`, {
    cause: error,
    retryable: known?.retryable ?? false,
  });
}

const OTHER_TABLES =
  'The tables in % are not those of Countersign, or some are missing; choose another file, or restore a backup';

/** SQLite has one code for all mistakes in a statement. */
function whatOf(said: string): string {
  const isOfTables = /^no such (table|column)|^(table|view|index) .* already exists/.test(said);
  return isOfTables ? OTHER_TABLES : 'The store % failed';
}

/** One of the open files is no longer the one at its path. Only a restart of the process helps. */
export function movedFile(path: string, moved: string): ProviderError {
  const message = `${moved} was replaced or deleted while this process used the database ${path}. Nothing was written. Stop all processes that use it, put the right files in place, and restart them.`;
  return new ProviderError('store-failed', { path }, message, { retryable: false });
}

/** Processes that use the other name write to a different log, which this one does not see. */
export function twoNames(path: string, how: 'link' | 'mount'): ProviderError {
  const [what, advice] =
    how === 'link'
      ? ['has another name (a hard link)', 'Remove the other name, or make a copy of the file']
      : ['is mounted alone, without its folder', 'Mount the folder that it is in'];
  const message = `${path} ${what}. The newest data is in a log beside each name, and processes that use different names do not see each other's. ${advice}.`;
  return new ProviderError('store-failed', { path }, message, { retryable: false });
}

const BUSY = 5;
const LOCKED = 6;

/** By SQLite's primary result code. */
const KNOWN: ReadonlyMap<number, { readonly what: string; readonly retryable: boolean }> = new Map([
  [BUSY, { what: 'Another process has been writing to % for too long; try again', retryable: true }],
  [LOCKED, { what: 'Another process has been writing to % for too long; try again', retryable: true }],
  [8, { what: '% can only be read; give this process the right to write the file and its folder', retryable: false }],
  [10, { what: '% cannot be read or written; look at the disk', retryable: true }],
  [11, { what: '% is damaged; stop all processes that use it, then restore a backup', retryable: false }],
  [13, { what: 'The disk of % is full; make room and try again', retryable: true }],
  [14, { what: '% cannot be opened; make sure that its folder exists and is writable', retryable: false }],
  // SQLite itself has retried for ten seconds.
  [15, { what: '% is locked by a process that stopped in the middle of a write; try again', retryable: true }],
  [26, { what: '% is not a SQLite database; choose another file', retryable: false }],
]);

/** Node puts SQLite's extended result code on its errors; its low byte is the primary one. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
