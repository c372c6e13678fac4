// Failures of PostgreSQL as errors that say what to do and whether a retry may help.
import { CountersignError, ProviderError } from '../../core/errors.ts';

/** Our own errors pass unchanged. */
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
  // A host with several addresses has one error for each attempt to connect.
  return error instanceof AggregateError ? errorCode(error.errors[0]) : undefined;
}

/** The server refused the statement, so it has done nothing. Otherwise that is unknown. */
export function hasAnswered(error: unknown): boolean {
  const code = errorCode(error);
  return isSqlState(code) && !/^(08|25P|57P|58)/.test(code);
}

/** The prepared statement is missing, outdated or a duplicate on this connection. Nothing was done. */
export function isOfPrepared(error: unknown): boolean {
  const code = errorCode(error);
  return code === '26000' || code === '0A000' || code === '42P05';
}

/** The connection must not be used again: it was lost, has other statements prepared, or leads to a standby. */
export function endsConnection(error: unknown): boolean {
  return !hasAnswered(error) || isOfPrepared(error) || errorCode(error) === READ_ONLY;
}

/** The statement lost against another at a strict isolation level, and has done nothing. */
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
/** By `statement_timeout`, or by an operator. */
const CANCELLED = '57014';
const NO_RIGHT = '42501';

/** Prefixes of SQLSTATE: connection, resources, rollback, shutdown, locks, standby, time limits, lost statements. */
const RETRYABLE = ['08', '53', '40', '57P', CANCELLED, '55P03', READ_ONLY, '25P', '58', '26'];

function isRetryable(code: string | undefined, said: string): boolean {
  // Without a SQLSTATE the server has not answered: the connection failed or was lost.
  if (!isSqlState(code)) return !said.includes('after calling end') && !isOfPassword(said);
  return RETRYABLE.some((start) => code.startsWith(start));
}

/** A mistake in the program, which a retry repeats. */
function isOurs(error: unknown): boolean {
  return [TypeError, RangeError, SyntaxError, ReferenceError].some((mistake) => error instanceof mistake);
}

/** `pg` itself reports a missing or unusable password. */
function isOfPassword(said: string): boolean {
  return said.startsWith('SASL');
}

/** Codes of the connection, such as EPIPE, begin with an E. */
function isSqlState(code: string | undefined): code is string {
  return code !== undefined && /^(?!E)[0-9A-Z]{5}$/.test(code);
}

function adviceOn(code: string | undefined, retryable: boolean): string {
  if (code === READ_ONLY) return 'It is a standby, or its user can only read: use the address of the primary.';
  if (code === CANCELLED)
    return 'It exceeded its statement_timeout, or an operator cancelled it: try again, or raise the timeout.';
  if (code === NO_RIGHT)
    return 'Grant the user the right to create and use the tables and the schema, or migrate as their owner.';
  if (code === 'ERR_INVALID_URL')
    return 'Correct the address: it must have one host, and characters like / ? # in a password are written %2F %3F %23.';
  switch (code?.slice(0, 2)) {
    case '28':
      return 'Correct the user or the password in the address.';
    case '3D':
      return 'Create the database, or correct the address.';
    case '3F':
      return 'Set `schema`, or set the search_path of the user to an existing schema.';
    case '42':
      return 'The tables are not those of Countersign, or some are missing, as after a partial restore: restore all of them, or use another `schema`.';
    case '53':
      return 'Free disk space or raise its limits, then try again.';
    default:
      return retryable ? 'Try again when it can be reached.' : 'See the cause.';
  }
}
