// The keyboard of the inbox: passes keys to the open prompt, keeps pasted text from deciding anything, and notices when the
// person leaves.
import { emitKeypressEvents, type Key } from 'node:readline';
import { PassThrough, type Readable } from 'node:stream';
import { STOP_SIGNALS } from '../runtime/stopping.ts';

export type Keyboard = {
  /** The keys for a prompt. */
  readonly input: Readable;
  /** Aborts when the person presses Ctrl-C or closes the window, or a signal ends the process. */
  readonly signal: AbortSignal;
  /** Passes keys on while a prompt is open; other keys are dropped. Pasted text only goes to prompts that take text. */
  during<T>(prompt: Promise<T>, options?: { readonly takesText?: boolean }): Promise<T>;
  /** Gives the terminal to another program until `work` returns. */
  lend<T>(work: () => T): T;
  close(): void;
};

/** Thrown when the person leaves; carries the exit code that shells use. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('Interrupted');
    this.exitCode = exitCode;
  }
}

/** A prompt redraws for each character, so a longer paste would block it. */
const LONGEST_PASTE = 5_000;
const EXIT_CODES: ReadonlyMap<string, number> = new Map(STOP_SIGNALS);
const BRACKETED_PASTE = { on: '\u001b[?2004h', off: '\u001b[?2004l' } as const;
const ESCAPE_TIMEOUT = { escapeCodeTimeout: 50 };

export function openKeyboard(): Keyboard {
  const { stdin, stdout } = process;
  const input = new PassThrough();
  const leaving = new AbortController();
  let open: 'none' | 'keys' | 'text' = 'none';
  let pasted: string | undefined;

  const onKey = (text: string | undefined, key: Key) => {
    if (key.name === 'paste-start') pasted = '';
    else if (key.name === 'paste-end') {
      if (open === 'text' && pasted !== undefined && pasted.length <= LONGEST_PASTE)
        input.write(pasted.trim().replaceAll(/\p{Cc}+/gu, ' '));
      pasted = undefined;
    } else if (key.ctrl && key.name === 'c') process.kill(process.pid, 'SIGINT');
    else if (pasted !== undefined) pasted += text ?? '';
    else if (open !== 'none') input.write(key.sequence ?? text ?? '');
  };
  const leave = (signal: NodeJS.Signals) => {
    const exitCode = EXIT_CODES.get(signal) ?? 1;
    if (leaving.signal.aborted) process.exit(exitCode);
    leaving.abort(new Interrupted(exitCode));
  };
  const onHangUp = () => leaving.signal.aborted || leave('SIGHUP');
  const take = () => {
    stdin.setRawMode(true).resume();
    stdout.write(BRACKETED_PASTE.on);
  };
  const restore = () => {
    // A closed terminal cannot be restored.
    if (stdin.isTTY && !stdin.destroyed) stdin.setRawMode(false).pause();
    stdout.write(`${BRACKETED_PASTE.off}\u001b[?25h`);
  };

  emitKeypressEvents(stdin, ESCAPE_TIMEOUT as never);
  stdin.on('keypress', onKey).on('end', onHangUp).on('error', onHangUp);
  stdout.removeAllListeners('error').on('error', onHangUp);
  for (const [signal] of STOP_SIGNALS) process.on(signal, leave);
  process.on('exit', restore);
  take();
  return {
    input,
    signal: leaving.signal,
    async during(prompt, { takesText = false } = {}) {
      open = takesText ? 'text' : 'keys';
      try {
        return await prompt;
      } finally {
        open = 'none';
        leaving.signal.throwIfAborted();
      }
    },
    lend(work) {
      restore();
      try {
        return work();
      } finally {
        take();
      }
    },
    close() {
      stdin.off('keypress', onKey).off('end', onHangUp).off('error', onHangUp);
      stdout.off('error', onHangUp);
      for (const [signal] of STOP_SIGNALS) process.off(signal, leave);
      process.off('exit', restore);
      restore();
    },
  };
}
