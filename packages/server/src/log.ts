// Structured logs: one line of JSON each, without secrets.

/** `info` for normal operation, `warn` for what needs attention, `error` for failures of the server. */
export type LogLevel = 'info' | 'warn' | 'error';

/** A log entry. */
export type LogEntry = {
  readonly time: string;
  readonly level: LogLevel;
  readonly event: string;
  readonly [key: string]: unknown;
};

/** Receives log entries. */
export type LogSink = (entry: LogEntry) => void;

export type Log = (level: LogLevel, event: string, about?: Readonly<Record<string, unknown>>) => void;

/** Writes log entries to the standard output, as one line of JSON each. */
export const jsonLines: LogSink = (entry) => {
  process.stdout.write(`${JSON.stringify(entry)}\n`);
};

export function createLog(sink: LogSink | undefined): Log {
  if (!sink) return () => undefined;
  return (level, event, about = {}) => {
    const entry = { time: new Date().toISOString(), level, event, ...(redacted(about) as Record<string, unknown>) };
    // A failing log must not fail requests or end the process.
    try {
      const writing: unknown = sink(entry);
      if (typeof writing === 'object') Promise.resolve(writing).catch(() => undefined);
    } catch {}
  };
}

const SECRET_NAMES = /pass(word|phrase|wd)?$|secret|token|authorization|cookie|api[-_]?key|credential|private[-_]?key/i;
const SECRET_VALUES = /\b(cs_[0-9a-f]{16}_[\w-]{43}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|bearer\s+\S+)/gi;
const HIDDEN = '[redacted]';
const MAX_DEPTH = 8;
const MAX_TEXT = 4_000;

/** A copy without values that look like secrets, by their names or their form. */
export function redacted(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT).replaceAll(SECRET_VALUES, HIDDEN);
  if (value instanceof Error)
    return redacted({ name: value.name, message: value.message, stack: value.stack, code: codeOf(value) }, depth);
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value;
  if (depth >= MAX_DEPTH) return '[…]';
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => redacted(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      SECRET_NAMES.test(name) && item !== null && item !== undefined ? HIDDEN : redacted(item, depth + 1),
    ]),
  );
}

const codeOf = (error: Error): unknown => ('code' in error ? error.code : undefined);
