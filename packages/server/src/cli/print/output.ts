// Where commands write: results to stdout, everything else to stderr, with colours where the terminal supports them.
import { stripVTControlCharacters, styleText } from 'node:util';
import { visibleJson, visibleText } from '../../text/visible-text.ts';
import { type CommandFailure, EXIT } from '../failure.ts';
import { type Cell, tabbedLine, tableLines } from './table.ts';

export type Format = Parameters<typeof styleText>[0];

/** The output of a command. With `json`, stdout carries only JSON documents. */
export type Output = {
  readonly json: boolean;
  /** Columns of a line of text. */
  readonly width: number;
  /** Columns of a table row; unlimited if stdout is not a terminal. */
  readonly rowWidth: number;
  /** Prints a line of the result, for people. */
  line(text?: string): void;
  /** Prints rows below a heading; if stdout is not a terminal, only the rows, with tabs between their cells. */
  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void;
  /** Prints the result as a JSON document; on one line with `follow`. */
  document(value: unknown, how?: { readonly follow?: boolean }): void;
  /** Prints progress, hints and warnings to stderr. Silent with `json`. */
  note(text: string): void;
  failure(failure: CommandFailure): void;
  style(format: Format, text: string): string;
};

export function createOutput(json = false): Output {
  const { stdout, stderr } = process;
  const styledFor = (stream: NodeJS.WriteStream) => (format: Format, text: string) =>
    styleText(format, text, { stream });
  const stdoutStyle = styledFor(stdout);
  const stderrStyle = styledFor(stderr);
  const isColoured = stderrStyle('red', '-') !== '-';
  const columns = stdout.isTTY ? Math.max(20, stdout.columns || 80) : undefined;
  const line = (text = ''): void => void stdout.write(`${text}\n`);
  return {
    json,
    width: columns ?? 80,
    rowWidth: columns ?? Number.POSITIVE_INFINITY,
    line,
    table(head, rows) {
      const paint = (text: string) => stdoutStyle('dim', text);
      const lines =
        columns === undefined
          ? rows.map(tabbedLine)
          : tableLines([head.map((text) => ({ text, paint })), ...rows], columns);
      for (const row of lines) line(row);
    },
    document: (value, { follow = false } = {}) =>
      stdout.write(`${visibleJson(follow ? JSON.stringify(value) : JSON.stringify(value, null, 2))}\n`),
    note: (text) => {
      // Its colours were chosen for stdout.
      if (!json) stderr.write(`${isColoured ? text : stripVTControlCharacters(text)}\n`);
    },
    failure({ code, message, hint, exitCode, details }) {
      if (json) {
        const error = { code, message, exitCode, ...(hint && { hint }), ...plain(details) };
        stderr.write(`${visibleJson(JSON.stringify({ error }, null, 2))}\n`);
        return;
      }
      stderr.write(
        `${stderrStyle('red', exitCode === EXIT.conflict ? 'conflict' : 'error')}: ${visibleText(message)}\n`,
      );
      if (hint) stderr.write(`${stderrStyle('dim', visibleText(hint))}\n`);
    },
    style: stdoutStyle,
  };
}

/** Leaves out the conversation, which is long and not the problem. */
function plain(details: { readonly [key: string]: unknown }): object {
  const { messages: _messages, ...rest } = details;
  return Object.keys(rest).length > 0 ? { details: rest } : {};
}
