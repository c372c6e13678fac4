// What goes wrong with PostgreSQL, as an error that says what to do and whether trying again may help.
import { CountersignError, ProviderError } from '../../core/errors.ts';

/** Errors that are ours already are left as they are. */
export function postgresFailure(error: unknown): CountersignError {
  if (error instanceof CountersignError) return error;
  const code = errorCode(error);
  const said = error instanceof Error ? error.message : String(error);
  const retryable = !isOurs(error) && isRetryable(code, said);
  return new ProviderError(
    'store-failed',
    { postgresCode: code ?? null },
    `PostgreSQL failed: ${said || code}. ${adviceOn(isOfPassword(said) ? '28' : code, retryable)}`,
    { cause: error, retryable },
  );
}

/** The SQLSTATE of the server, or the code of the connection's error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  // When a name has several addresses, each attempt to connect has its own error.
  return error instanceof AggregateError ? errorCode(error.errors[0]) : undefined;
}

/** The server itself refused the statement, and so has done nothing. Otherwise nobody knows. */
export function hasAnswered(error: unknown): boolean {
  const code = errorCode(error);
  return isSqlState(code) && !/^(08|25P|57P|58)/.test(code);
}

/** The connection does not have, cannot use any more, or has already what was to be prepared on it. Nothing was done. */
export function isOfPrepared(error: unknown): boolean {
  const code = errorCode(error);
  return code === '26000' || code === '0A000' || code === '42P05';
}

/**
 * The connection is not used again: it was lost, has something else prepared, or leads to a standby. The address may lead
 * elsewhere by now.
 */
export function endsConnection(error: unknown): boolean {
  return !hasAnswered(error) || isOfPrepared(error) || errorCode(error) === READ_ONLY;
}

/** The statement lost against another at a stricter isolation level than the default, and has done nothing. */
export function isSerializationFailure(error: unknown): boolean {
  return errorCode(error) === '40001';
}

/** The name of the unique constraint that refused a row. */
export function violatedConstraint(error: unknown): string | undefined {
  if (errorCode(error) !== '23505') return undefined;
  const { constraint } = error as { constraint?: unknown };
  return typeof constraint === 'string' ? constraint : undefined;
}

const READ_ONLY = '25006';
/** By a limit on statements, or by somebody. */
const CANCELLED = '57014';
const NO_RIGHT = '42501';

/**
 * By the first two or all characters of SQLSTATE: connection, resources, rollback, shutdown, locks; a standby; a limit on
 * transactions, which ends the connection; a prepared statement that somebody has taken from it.
 */
const RETRYABLE = ['08', '53', '40', '57P', CANCELLED, '55P03', READ_ONLY, '25P', '58', '26'];

function isRetryable(code: string | undefined, said: string): boolean {
  // Without a SQLSTATE the server has not answered: the connection failed, or was lost.
  if (!isSqlState(code)) return !said.includes('after calling end') && !isOfPassword(said);
  return RETRYABLE.some((start) => code.startsWith(start));
}

/** A mistake of the program, which is the same the next time. */
function isOurs(error: unknown): boolean {
  return [TypeError, RangeError, SyntaxError, ReferenceError].some((mistake) => error instanceof mistake);
}

/** `pg` says so itself when there is no password, or none that it can send. */
function isOfPassword(said: string): boolean {
  return said.startsWith('SASL');
}

/** Codes of the connection, like EPIPE, begin with an E. */
function isSqlState(code: string | undefined): code is string {
  return code !== undefined && /^(?!E)[0-9A-Z]{5}$/.test(code);
}

function adviceOn(code: string | undefined, retryable: boolean): string {
  if (code === READ_ONLY) return 'It is a standby, or its user may only read: use the address of the primary.';
  if (code === CANCELLED)
    return 'It took longer than its statement_timeout allows, or somebody cancelled it: try again, or raise that.';
  if (code === NO_RIGHT)
    return 'Give the user the right to create and use the tables, or the schema that is named; or migrate as their owner.';
  if (code === 'ERR_INVALID_URL')
    return 'Correct the address: it has one host, and signs like / ? # in a password are %2F %3F %23 there.';
  switch (code?.slice(0, 2)) {
    case '28':
      return 'Correct the user or the password in the address.';
    case '3D':
      return 'Create the database, or correct the address.';
    case '3F':
      return 'Give a `schema`, or set the search_path of the user to one that is there.';
    case '42':
      return 'The tables are not those of Countersign, or not all of them are there, as after half a restore: restore them whole, or give a `schema` of its own.';
    case '53':
      return 'Make room on its disk or raise its limits, then try again.';
    default:
      return retryable ? 'Try again when it can be reached.' : 'Look at the cause.';
  }
}
