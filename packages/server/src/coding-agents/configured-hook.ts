// A hook as the settings of a coding agent configure it.

export type ConfiguredHook = {
  /** The file that configures it. */
  readonly file: string;
  /** As in `PreToolUse`. */
  readonly event: string;
  /** Undefined: all tools. */
  readonly matcher: string | undefined;
  readonly command: string;
  readonly timeoutSeconds: number;
  /** Whether the agent blocks the call if the command is missing, fails or hangs. Undefined: it has no such setting. */
  readonly blocksOnFailure: boolean | undefined;
  /** Why the agent does not run it; undefined if it does. */
  readonly skipped?: string | undefined;
  /** What to do about `skipped`. */
  readonly fix?: string | undefined;
};

/** The hooks of one agent, and the mistakes that keep the agent from reading its settings. */
export type ConfiguredHooks = {
  readonly hooks: readonly ConfiguredHook[];
  readonly mistakes: readonly { readonly file: string; readonly text: string; readonly fix: string }[];
  /** What could not be found out. */
  readonly unknown?: string;
};

/** What agents use if a hook names no timeout. */
export const DEFAULT_TIMEOUT_SECONDS = 600;

/** What an agent runs before a call, and after it. */
export type HookCommands = { readonly ask: string; readonly end: string };

/** A part of a command that needs no quotes, or is quoted as a whole. */
const WORD = String.raw`(?:"[\w@:./~$ {}=,+%-]+"|[\w@:./~$\{}=,+%-]+)`;
const CALL = new RegExp(
  String.raw`^(?:timeout (?<limit>\d+)s? )?(?:npx (?:-y )?)?(?:${WORD}/|node ${WORD}/)?countersign(?:\.js)?"? hook(?<options>(?: ${WORD})*)(?: \|\| (?:exit 2|\{ echo '[^'&]*' >&2; exit 2; \}))?$`,
);

/** The parts of a command that only calls `countersign hook`; undefined for every other command. */
export function readCommand(command: string): { readonly wait: number; readonly limit?: number } | undefined {
  const { limit, options = '' } = CALL.exec(command.trim())?.groups ?? {};
  if (!CALL.test(command.trim())) return undefined;
  const wait = Number(/ --wait[ =](\d+)/.exec(options)?.[1] ?? 50);
  return limit === undefined ? { wait } : { wait, limit: Number(limit) };
}

export const isOurs = ({ command }: { readonly command: string }): boolean => /countersign\S* hook\b/.test(command);
