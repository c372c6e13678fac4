// How a command fails: a message for people, a code for programs, and the exit code of the process.

/** The exit codes of every command. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, conflict: 4 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure of a command. `hint` says what to do next. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: { readonly [key: string]: unknown };

  constructor(
    exitCode: ExitCode,
    code: string,
    message: string,
    more: {
      readonly hint?: string;
      readonly details?: { readonly [key: string]: unknown };
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause });
    this.exitCode = exitCode;
    this.code = code;
    this.hint = more.hint;
    this.details = more.details ?? {};
  }

  /** The same failure with another message. */
  saying(message: string): CommandFailure {
    const { exitCode, code, hint, details, cause } = this;
    return new CommandFailure(exitCode, code, message, { ...(hint !== undefined && { hint }), details, cause });
  }
}

export const usageFailure = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(EXIT.usage, 'usage', message, hint === undefined ? {} : { hint });

/**
 * Turns any error into a failure, with `more` details. Recognizes errors by code, not by class: the user's agents may use another copy of the
 * library, and a server sends errors as data.
 */
export function failureOf(error: unknown, more: { readonly [key: string]: unknown } = {}): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  const { code, details, problems } = (error ?? {}) as { code?: unknown; details?: unknown; problems?: unknown };
  const known = typeof code === 'string' ? code : 'failed';
  return new CommandFailure(EXIT_CODES[known] ?? EXIT.failure, known, message, {
    details: {
      ...(typeof details === 'object' && details !== null ? details : {}),
      ...(Array.isArray(problems) && problems.length > 0 && { problems }),
      ...more,
    },
    ...(HINTS[known] !== undefined && { hint: HINTS[known] }),
    cause: error,
  });
}

const EXIT_CODES: Readonly<Record<string, ExitCode>> = {
  'unknown-run': EXIT.notFound,
  'unknown-grant': EXIT.notFound,
  'unknown-request': EXIT.notFound,
  'not-found': EXIT.notFound,
  'already-decided': EXIT.conflict,
  'outdated-card': EXIT.conflict,
  'run-exists': EXIT.conflict,
  'stale-version': EXIT.conflict,
  claimed: EXIT.conflict,
  'invalid-options': EXIT.usage,
  'invalid-decision': EXIT.usage,
  'invalid-resume': EXIT.usage,
  'invalid-request': EXIT.usage,
  'not-json': EXIT.usage,
};

const HINTS: Readonly<Record<string, string>> = {
  'unknown-run': 'List runs with: countersign runs',
  'unknown-request': 'List requests with: countersign inbox',
  'unknown-agent': 'Pass --agents <file>, or decide through a server with --url',
  'outdated-card': 'Review the request again with: countersign inbox',
  'not-authorized':
    'Sign in with: countersign login. Or pass --token or set COUNTERSIGN_TOKEN, with a token of: countersign tokens create',
  'no-store':
    'Pass `store` to countersign() in your file, or export a function ({ store }) => countersign({ store, … })',
};
