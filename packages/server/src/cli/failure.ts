// How a command fails: with a message for a person, a code for a program, and the exit code of the process.

/** The exit codes of every command. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, conflict: 4 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** `hint` says what to do now, on a line of its own. */
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
}

export const usageFailure = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(EXIT.usage, 'usage', message, hint === undefined ? {} : { hint });

/**
 * Anything that was thrown, as a failure of the command. Errors are known by their code, never by their class: the user's
 * agents may bring another copy of the library, and a server sends its errors as data.
 */
export function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  const { code, details, problems } = (error ?? {}) as { code?: unknown; details?: unknown; problems?: unknown };
  const known = typeof code === 'string' ? code : 'failed';
  return new CommandFailure(exitCodeOf(known), known, message, {
    details: {
      ...(typeof details === 'object' && details !== null ? details : {}),
      ...(Array.isArray(problems) && problems.length > 0 && { problems }),
    },
    ...(HINTS[known] !== undefined && { hint: HINTS[known] }),
    cause: error,
  });
}

function exitCodeOf(code: string): ExitCode {
  if (NOT_FOUND.has(code)) return EXIT.notFound;
  if (CONFLICTS.has(code)) return EXIT.conflict;
  return USAGE.has(code) ? EXIT.usage : EXIT.failure;
}

const NOT_FOUND: ReadonlySet<string> = new Set(['unknown-run', 'unknown-interrupt', 'not-found']);
const CONFLICTS: ReadonlySet<string> = new Set([
  'already-decided',
  'outdated-card',
  'run-exists',
  'stale-version',
  'claimed',
]);
const USAGE: ReadonlySet<string> = new Set([
  'invalid-options',
  'invalid-decision',
  'invalid-resume',
  'invalid-request',
  'not-json',
]);

const HINTS: Readonly<Record<string, string>> = {
  'unknown-run': 'See which there are with: countersign runs',
  'unknown-interrupt': 'See which there are with: countersign inbox',
  'outdated-card': 'Look at the question again with: countersign inbox',
  'not-authorized': 'Pass --token, or set COUNTERSIGN_TOKEN. A token is made with: countersign tokens create',
  EADDRINUSE: 'Choose another port with --port, or stop what listens there.',
  'no-store':
    'Pass `store` to countersign() in your file, or export a function ({ store }) => countersign({ store, … })',
};
