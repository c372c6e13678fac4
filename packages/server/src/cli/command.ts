// What a command is: its words, its options, its help, and what it does.
import type { ExitCode } from './failure.ts';
import type { Output } from './print/output.ts';

/** An option as it is told and read. `value` names what it takes; without it, it is there or not. */
export type Option = {
  readonly value?: string;
  readonly short?: string;
  readonly summary: string;
  /** What it may be. */
  readonly choices?: readonly string[];
};

export type Options = Readonly<Record<string, Option>>;

/** What was given on the command line, and the output to write to. */
export type Invocation = {
  readonly positionals: readonly string[];
  readonly output: Output;
  has(option: string): boolean;
  text(option: string): string | undefined;
  /** A whole number between the two; a usage failure if it is none. */
  whole(option: string, least: number, most: number): number | undefined;
};

export type Command = {
  /** One word, or two as in `tokens create`. */
  readonly name: string;
  /** What stands behind the name in the usage, as in `<run>` or `[file]`. */
  readonly arguments?: string;
  readonly summary: string;
  /** Paragraphs below the usage. */
  readonly description: readonly string[];
  readonly options: Options;
  readonly examples: readonly (readonly [line: string, what: string])[];
  run(invocation: Invocation): Promise<ExitCode | undefined>;
};
