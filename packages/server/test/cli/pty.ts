// A program in a real terminal: started through `script`, with its screen, its keys, and what it left behind.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { createScreen } from './screen.ts';

export type TerminalOptions = {
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** As a job of a shell that can stop it; a line of input lets it go on. */
  readonly isJob?: boolean;
};

/** From util-linux: it runs a command in a pseudo-terminal. */
const SCRIPT = 'script';

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

export function inTerminal(command: readonly string[], { columns = 80, rows = 24, cwd, env, isJob }: TerminalOptions) {
  const program = command.map(quoted).join(' ');
  const tellModes = `echo "stty: $(stty -a | tr '\\n' ' ')"`;
  const job = `set -m; ${program}; ${tellModes}; echo stopped; read -r line; fg`;
  // Ctrl-C reaches the shell, too, which has to live on to tell how the terminal was left.
  const line = `trap : INT; stty cols ${columns} rows ${rows}; ${isJob ? job : program}; code=$?; ${tellModes}; exit $code`;
  const child: ChildProcess = spawn(SCRIPT, ['-qec', line, '/dev/null'], {
    cwd,
    env: { ...plainEnvironment(), TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
  });
  const screen = createScreen(rows, columns);
  let output = '';
  let look = () => {};
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    screen.write(text);
    look();
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  /** Waits until the screen shows a text, or matches. */
  const shows = (wanted: string | RegExp | ((screen: string) => boolean)): Promise<string> =>
    new Promise((resolve, reject) => {
      const fits =
        typeof wanted === 'function'
          ? wanted
          : (text: string) => (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text));
      const missing = () =>
        reject(new Error(`“${String(wanted)}” was not shown. The screen is:\n${screen.text()}\n${output.slice(-500)}`));
      const timer = setTimeout(missing, 45_000);
      look = () => {
        if (!fits(screen.text())) return;
        clearTimeout(timer);
        look = () => {};
        resolve(screen.text());
      };
      void ended.then(missing);
      look();
    });
  /** The process id of the program itself: the last of those that `script` started. */
  const programId = (): number => {
    for (let id = child.pid ?? 0; ; ) {
      const [below] = readFileSync(`/proc/${id}/task/${id}/children`, 'utf8').trim().split(' ');
      if (below === undefined || below === '') return id;
      id = Number(below);
    }
  };
  /** As when the window is made larger or smaller. */
  const resize = (to: { readonly columns: number; readonly rows: number }): void => {
    screen.resize(to.rows, to.columns);
    const device = readlinkSync(`/proc/${programId()}/fd/0`);
    execFileSync('stty', ['-F', device, 'cols', String(to.columns), 'rows', String(to.rows)]);
  };
  return {
    child,
    programId,
    resize,
    screen,
    output: () => output,
    ended,
    shows,
    press: (keys: string) => child.stdin?.write(keys),
  };
}

/** Without what would change colours, the person or the place. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { NO_COLOR, FORCE_COLOR, NODE_DISABLE_COLORS, CI, EDITOR, VISUAL, ...rest } = process.env;
  for (const name of Object.keys(rest)) if (name.startsWith('COUNTERSIGN_')) delete rest[name];
  return { ...rest, USER: 'ben', TZ: 'UTC' };
}

export const KEYS = {
  enter: '\r',
  escape: '\u001b',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  interrupt: '\u0003',
} as const;
