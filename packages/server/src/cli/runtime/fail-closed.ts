// Makes a process that must answer end with exit code 2 unless it has answered, whatever else ends it or keeps it.
import { writeSync } from 'node:fs';
import { EXIT } from '../failure.ts';

export type FailClosed = {
  /** Writes the answer. From then on the exit code is that of the command. */
  answer(text: string): Promise<void>;
  /** The command has said why it blocks the call, and ends with exit code 2 itself. */
  refused(): void;
};

/**
 * Coding agents run a call if the program that they ask ends with exit code 0 and an answer that they cannot read, and Codex also if
 * it ends with exit code 2 and says nothing. So standard output belongs to the answer alone, everything else is printed to standard
 * error, and after `limitMs` the process ends.
 */
export function failClosed(limitMs: number): FailClosed {
  let isSaid = false;
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const blockUnlessSaid = (why: string): void => {
    if (isSaid) return;
    isSaid = true;
    process.exitCode = EXIT.usage;
    try {
      writeSync(stderr.fd, `error: The call is blocked, because ${why}\n`);
    } catch {
      // Nothing reads it. The exit code stays.
    }
  };
  process.on('exit', () => blockUnlessSaid('the hook ended without an answer.'));
  const late = () => {
    blockUnlessSaid(`there was no answer within ${limitMs / 1_000} seconds. The store may be away.`);
    process.exit();
  };
  setTimeout(late, limitMs).unref();
  return {
    answer: (text) =>
      new Promise((resolve) => {
        write(text, (error) => {
          isSaid = !error;
          resolve();
        });
      }),
    refused: () => {
      isSaid = true;
    },
  };
}
