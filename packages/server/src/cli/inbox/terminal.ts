// The terminal as a full screen: frames go out, keys come in, and it is left as it was, whatever happens.
import { emitKeypressEvents, type Key } from 'node:readline';
import { styleText } from 'node:util';
import type { Format } from '../print/output.ts';
import { wrap } from '../print/text-width.ts';

/** Lines that fit the screen, and where the cursor is, if it is shown. */
export type Frame = {
  readonly lines: readonly string[];
  readonly cursor?: { readonly row: number; readonly column: number };
};

export type Size = { readonly rows: number; readonly columns: number };

export type Terminal = {
  /**
   * Draws until a key gives a result. One asks at a time; keys that come when nobody asks are dropped. What is pasted is no
   * key, so that it decides nothing: it goes to `paste`, where text is asked for.
   */
  ask<T>(
    draw: (size: Size) => Frame,
    press: (text: string, key: Key) => T | undefined,
    paste?: (text: string) => void,
  ): Promise<T>;
  /** Draws again what is asked now. */
  redraw(): void;
  /** Draws once, while something is being done. `left` says what to know of it, for whoever leaves meanwhile. */
  show(draw: (size: Size) => Frame, left?: () => string): void;
  /** Gives the terminal to another program meanwhile. */
  lend<T>(work: () => T): T;
  style(format: Format, text: string): string;
  close(): void;
};

/** What is asked now. */
type Asked = {
  draw(size: Size): Frame;
  press(text: string, key: Key): void;
  paste(text: string): void;
  fail(error: Error): void;
};

/** The person pressed Ctrl-C, or the process was told to end: with this exit code, as shells have it. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('Interrupted');
    this.exitCode = exitCode;
  }
}

const LEAST: Size = { rows: 10, columns: 30 };

const tooSmall = ({ rows, columns }: Size): Frame => ({
  lines: wrap(`Make the window larger: ${LEAST.columns}×${LEAST.rows} at least.`, columns).slice(0, rows),
});

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[2J';
const LEAVE = '\u001b[?2004l\u001b[?25h\u001b[?1049l';

export function openTerminal(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Terminal {
  let isOpen = false;
  /** What is being pasted, which comes as keys between two marks. */
  let pasted: string | undefined;
  let current: Asked | undefined;
  let left: (() => string) | undefined;
  let isEnding = false;
  const size = (): Size => ({ rows: output.rows || 24, columns: output.columns || 80 });
  /** What cannot be shown cannot be decided. */
  const isTooSmall = () => size().rows < LEAST.rows || size().columns < LEAST.columns;

  const enter = () => {
    isOpen = true;
    pasted = undefined;
    // First, because a job in the background is stopped here, before it has written anything.
    input.setRawMode(true);
    output.write(ENTER);
    input.resume();
  };
  const leave = () => {
    if (!isOpen) return;
    isOpen = false;
    // A terminal that was closed cannot be left as it was.
    if (input.isTTY && !input.destroyed) input.setRawMode(false);
    output.write(LEAVE);
  };
  const paint = ({ lines, cursor }: Frame) => {
    if (!isOpen) return;
    const { rows } = size();
    const rest = Array.from({ length: rows }, (_, row) => `\u001b[${row + 1};1H${lines[row] ?? ''}\u001b[K`);
    const place = cursor ? `\u001b[${cursor.row + 1};${cursor.column + 1}H\u001b[?25h` : '\u001b[?25l';
    output.write(`\u001b[?25l${rest.join('')}${place}`);
  };
  const draw = (wanted: (size: Size) => Frame) => paint(isTooSmall() ? tooSmall(size()) : wanted(size()));
  const redraw = () => {
    if (current) draw(current.draw);
  };
  /** Ctrl-Z: the shell has the terminal until it gives it back. The whole job stops, as if the terminal had asked for it. */
  const suspend = () => {
    leave();
    process.kill(0, 'SIGTSTP');
    // A job that nobody could continue is not stopped.
    setTimeout(() => isOpen || onContinue(), 50);
  };
  /** The shell may have changed the terminal meanwhile. */
  const onContinue = () => {
    if (isOpen) input.setRawMode(false);
    enter();
    redraw();
  };
  const onKey = (text: string | undefined, key: Key) => {
    if (key.name === 'paste-start') pasted = '';
    else if (key.ctrl && key.name === 'c') end(130);
    else if (key.name === 'paste-end') {
      if (pasted !== undefined && !isTooSmall()) current?.paste(pasted);
      pasted = undefined;
    } else if (pasted !== undefined) pasted += text ?? key.sequence ?? '';
    else if (key.ctrl && key.name === 'z') suspend();
    else if (isTooSmall()) return;
    else current?.press(text ?? '', key);
  };
  /** Whoever asks can tidy up. At the second time, or while something is being done, it ends at once. */
  const end = (exitCode: number) => {
    const isSecond = isEnding;
    isEnding = true;
    leave();
    if (isSecond || !current) {
      if (left) process.stderr.write(`${left()}\n`);
      process.exit(exitCode);
    }
    current.fail(new Interrupted(exitCode));
  };
  const onSignal = (signal: NodeJS.Signals) => end(signal === 'SIGTERM' ? 143 : 130);
  /** The window was closed, which is told in several ways at once. */
  const onHangUp = () => {
    if (!isEnding) end(129);
  };
  const onCrash = (error: unknown) => {
    leave();
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  };

  emitKeypressEvents(input);
  input.on('keypress', onKey);
  for (const gone of ['end', 'error']) input.on(gone, onHangUp);
  // Elsewhere an output that is gone ends the process at once; here there is something to tidy up.
  const others = output.listeners('error') as ((error: Error) => void)[];
  output.removeAllListeners('error').on('error', onHangUp);
  output.on('resize', redraw);
  process.on('exit', leave);
  process.on('SIGCONT', onContinue);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  process.on('SIGHUP', onHangUp);
  process.on('uncaughtException', onCrash);
  process.on('unhandledRejection', onCrash);
  enter();

  return {
    async ask(draw, press, paste = () => {}) {
      left = undefined;
      try {
        return await new Promise((resolve, reject) => {
          current = {
            draw,
            press: (text, key) => {
              const result = press(text, key);
              if (result === undefined) redraw();
              else resolve(result);
            },
            paste: (text) => {
              paste(text);
              redraw();
            },
            fail: reject,
          };
          redraw();
        });
      } finally {
        current = undefined;
      }
    },
    redraw,
    show(wanted, whenLeft) {
      left = whenLeft;
      draw(wanted);
    },
    lend(work) {
      leave();
      try {
        return work();
      } finally {
        enter();
      }
    },
    style: (format, text) => styleText(format, text, { stream: output }),
    close() {
      leave();
      input.off('keypress', onKey);
      input.pause();
      output.off('resize', redraw);
      process.off('exit', leave);
      process.off('SIGCONT', onContinue);
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
      process.off('SIGHUP', onHangUp);
      for (const gone of ['end', 'error']) input.off(gone, onHangUp);
      output.off('error', onHangUp);
      for (const listener of others) output.on('error', listener);
      process.off('uncaughtException', onCrash);
      process.off('unhandledRejection', onCrash);
    },
  };
}
