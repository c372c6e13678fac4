// Where commands write: results to the output, everything else beside it; colours where they are wanted.
import { styleText } from 'node:util';
import { type CommandFailure, EXIT } from '../failure.ts';
import { visibleJson, visibleText } from './visible-text.ts';

export type Format = Parameters<typeof styleText>[0];

/** What a command writes with. `json`: results are documents for programs, and there is nothing else on the output. */
export type Output = {
  readonly json: boolean;
  /** Cells of a line. */
  readonly width: number;
  /** Cells of a row of a table: without end where it goes to a program or a file. */
  readonly rowWidth: number;
  /** A line of the result, for people. */
  line(text?: string): void;
  /** The result as one JSON document; on a line of its own if `follow`. */
  document(value: unknown, how?: { readonly follow?: boolean }): void;
  /** Beside the result: progress, hints, warnings. Silent with `json`. */
  note(text: string): void;
  failure(failure: CommandFailure): void;
  style(format: Format, text: string): string;
};

export function createOutput(json: boolean): Output {
  const { stdout, stderr } = process;
  const styledFor = (stream: NodeJS.WriteStream) => (format: Format, text: string) =>
    styleText(format, text, { stream });
  const beside = styledFor(stderr);
  return {
    json,
    width: stdout.isTTY ? Math.max(20, stdout.columns || 80) : 80,
    rowWidth: stdout.isTTY ? Math.max(20, stdout.columns || 80) : Number.POSITIVE_INFINITY,
    line: (text = '') => stdout.write(`${text}\n`),
    document: (value, { follow = false } = {}) =>
      stdout.write(`${visibleJson(follow ? JSON.stringify(value) : JSON.stringify(value, null, 2))}\n`),
    note: (text) => {
      if (!json) stderr.write(`${text}\n`);
    },
    failure({ code, message, hint, exitCode, details }) {
      if (json) {
        const error = { code, message, exitCode, ...(hint && { hint }), ...plain(details) };
        stderr.write(`${visibleJson(JSON.stringify({ error }, null, 2))}\n`);
        return;
      }
      stderr.write(`${beside('red', exitCode === EXIT.conflict ? 'conflict' : 'error')}: ${visibleText(message)}\n`);
      if (hint) stderr.write(`${beside('dim', visibleText(hint))}\n`);
    },
    style: styledFor(stdout),
  };
}

/** Conversations are long and not what went wrong. */
function plain(details: { readonly [key: string]: unknown }): object {
  const { messages: _messages, ...rest } = details;
  return Object.keys(rest).length > 0 ? { details: rest } : {};
}
