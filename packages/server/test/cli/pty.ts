// Runs a program in a real terminal, through `script` from util-linux.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { vi } from 'vitest';

export type TerminalOptions = {
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
};

/** From util-linux: runs a command in a pseudo-terminal. */
const SCRIPT = 'script';

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

export function inTerminal(command: readonly string[], { columns = 80, rows = 24, cwd, env }: TerminalOptions) {
  const program = command.map(quoted).join(' ');
  // Ctrl-C also reaches the shell, which must survive to print how the program left the terminal.
  const line = `trap : INT; stty cols ${columns} rows ${rows}; ${program}; code=$?; echo "stty: $(stty -a | tr '\\n' ' ')"; exit $code`;
  const child: ChildProcess = spawn(SCRIPT, ['-qec', line, '/dev/null'], {
    cwd,
    env: { ...plainEnvironment(), TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
  });
  const watched = watchOutput(child, stripVTControlCharacters);
  const plain = () => stripVTControlCharacters(watched.output());
  let answeredAt = 0;
  const press = (keys: string) => {
    // What a prompt printed before its answer no longer counts.
    if (ANSWERS.some((key) => keys.endsWith(key))) answeredAt = plain().length;
    child.stdin?.write(keys);
  };
  const selected = () =>
    [
      ...plain()
        .slice(answeredAt)
        .matchAll(/● ([^\r\n│]+)/g),
    ].at(-1)?.[1] ?? '';
  const changes = (from: string) =>
    vi
      .waitUntil(() => selected() !== from && selected(), { timeout: 30_000, interval: 20 })
      .catch(() => {
        throw new Error(`No option was selected:\n${plain().slice(answeredAt)}\n---\n${plain()}`);
      });
  /** Selects an option of the open menu by its label. */
  const pick = async (label: string): Promise<void> => {
    let option = await changes('');
    for (let moves = 0; !option.startsWith(label); moves++) {
      if (moves === 10) throw new Error(`There is no option “${label}”:\n${plain()}`);
      press(KEYS.down);
      option = await changes(option);
    }
    press(KEYS.enter);
  };
  /** The process id of the program: the last one that `script` started. */
  const programId = (): number => {
    for (let id = child.pid ?? 0; ; ) {
      const [childId] = readFileSync(`/proc/${id}/task/${id}/children`, 'utf8').trim().split(' ');
      if (childId === undefined || childId === '') return id;
      id = Number(childId);
    }
  };
  return { ...watched, programId, pick, press };
}

/** Collects the output of a process, and waits for text in it. */
export function watchOutput(child: ChildProcess, plain: (text: string) => string = (text) => text) {
  let output = '';
  let seen = 0;
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const listener of listeners) listener();
    });
  // Keys for a program that has ended are lost.
  child.stdin?.on('error', () => {});
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  /** Waits for text after the last match, and returns the match. */
  const says = (wanted: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`${wanted} was not printed:\n${plain(output).slice(seen)}\n---\n${output}`));
      const timer = setTimeout(fail, 30_000);
      const look = () => {
        const text = plain(output);
        const found = wanted.exec(text.slice(seen));
        if (!found) return;
        seen += found.index + found[0].length;
        clearTimeout(timer);
        listeners.delete(look);
        resolve(found);
      };
      listeners.add(look);
      void ended.then(fail);
      look();
    });
  return { child, output: () => output, ended, says };
}

/** The environment without variables that change colours, the person or the backend. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { NO_COLOR, FORCE_COLOR, NODE_DISABLE_COLORS, CI, EDITOR, VISUAL, PORT, ...rest } = process.env;
  for (const name of Object.keys(rest)) if (name.startsWith('COUNTERSIGN_')) delete rest[name];
  return { ...rest, USER: 'ben', TZ: 'UTC' };
}

export const KEYS = { enter: '\r', escape: '\u001b', up: '\u001b[A', down: '\u001b[B', interrupt: '\u0003' } as const;
const ANSWERS = [KEYS.enter, KEYS.escape, 'y', 'n'];
export const pasted = (text: string): string => `\u001b[200~${text}\u001b[201~`;
