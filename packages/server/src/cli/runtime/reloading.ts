// Reloading by starting over: a process of its own serves, and is replaced when a file that it loaded changes.
import { type ChildProcess, spawn } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { EXIT } from '../failure.ts';
import { isAgentsFileName } from './agents-file.ts';
import { STOP_SIGNALS, STOPPING } from './stopping.ts';

/** What the serving process tells the one that watches. */
export type ServingMessage =
  | { readonly type: 'loaded'; readonly files: readonly string[] }
  | { readonly type: 'listening'; readonly port: number }
  /** The file could not be loaded; a change of it may help. */
  | { readonly type: 'unloadable' };

/** How the serving process is told its part. */
export const DEV_ROLE = 'COUNTERSIGN_DEV_ROLE';
export const DEV_PORT = 'COUNTERSIGN_DEV_PORT';

const RELOADED = new Set(['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.prompt']);
/** Editors write a file in several steps. */
const DEBOUNCE_MS = 100;
/** Who does not come to rest by then is ended. Longer than a stop waits for a model: what that was asked is handed over. */
const PATIENCE_MS = 12_000;
/** The same for who has not even loaded its file: no worker runs there yet. */
const LOADING_MS = 2_000;

export type ReloadOptions = {
  readonly folders: readonly string[];
  tell(text: string): void;
};

/** Keeps a serving process, and replaces it on changes. Resolves with the exit code once it is stopped or hopeless. */
export function keepServing(command: readonly string[], { folders, tell }: ReloadOptions): Promise<number> {
  return new Promise((resolve) => {
    const watchers = new Map<string, FSWatcher>();
    let child: ChildProcess | undefined;
    let port: number | undefined;
    let isStopping = false;
    let isChanged = false;
    let codeIfKilled: number = EXIT.failure;
    let timer: NodeJS.Timeout | undefined;
    const changes: (readonly [folder: string, name: string])[] = [];
    /** What the serving process has loaded; undefined until it has, and after it ended. */
    let loaded: ReadonlySet<string> | undefined;

    const end = (code: number) => {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      resolve(code);
    };
    const stopChild = () => {
      const stopped = child;
      stopped?.kill('SIGTERM');
      const endAfter = (ms: number, text: string, isDue = () => true) => {
        setTimeout(() => {
          if (stopped?.exitCode === null && stopped === child && isDue() && stopped.kill('SIGKILL')) tell(text);
        }, ms).unref();
      };
      endAfter(LOADING_MS, 'Its file was still being loaded; that was ended.', () => loaded === undefined);
      endAfter(
        PATIENCE_MS,
        `It did not come to rest within ${PATIENCE_MS / 1_000} seconds, and was ended. A call that ran is in doubt.`,
      );
    };
    /** What was never loaded does not count while all is well: agents write files, too. */
    const counts = (folder: string, name: string): boolean => {
      if (!RELOADED.has(extname(name))) return false;
      return !loaded || loaded.has(join(folder, name)) || extname(name) === '.prompt' || isAgentsFileName(name);
    };
    const changed = (folder: string, name: string | null) => {
      if (isStopping || name === null) return;
      changes.push([folder, name]);
      clearTimeout(timer);
      timer = setTimeout(() => {
        const found = changes.splice(0).find((change) => counts(...change));
        if (!found) return;
        tell(`${found[1]} changed.`);
        if (!child) return start();
        isChanged = true;
        stopChild();
      }, DEBOUNCE_MS);
    };
    const follow = (folder: string) => {
      if (watchers.has(folder)) return;
      try {
        watchers.set(
          folder,
          watch(folder, (_event, name) => changed(folder, name)).on('error', () => watchers.delete(folder)),
        );
      } catch {
        // A folder that is gone cannot change.
      }
    };
    const start = () => {
      const [program = '', ...args] = command;
      isChanged = false;
      let isUnloadable = false;
      const started = spawn(program, args, {
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
        env: {
          ...process.env,
          [DEV_ROLE]: port === undefined ? 'first' : 'again',
          ...(port !== undefined && { [DEV_PORT]: String(port) }),
        },
      });
      child = started;
      started.on('message', (message: ServingMessage) => {
        if (message.type === 'loaded') {
          loaded = new Set(message.files);
          for (const file of message.files) follow(dirname(file));
        } else if (message.type === 'listening') port = message.port;
        else isUnloadable = true;
      });
      const ended = (code: number | null, signal: NodeJS.Signals | null) => {
        child = undefined;
        loaded = undefined;
        if (isStopping) return end(signal === 'SIGKILL' ? codeIfKilled : EXIT.ok);
        if (isChanged) return start();
        if (!isUnloadable && port === undefined) return end(code ?? 1);
        tell(
          isUnloadable
            ? 'Waiting for a change …'
            : `The server ended (${code ?? 'by a signal'}). Waiting for a change …`,
        );
      };
      started.on('exit', ended);
      // As where Node was updated meanwhile, or the system has no room for another process.
      started.on('error', ({ message }) => {
        if (started.pid !== undefined) return;
        tell(`The server cannot be started: ${message}.`);
        ended(EXIT.failure, null);
      });
    };

    for (const folder of folders) follow(folder);
    for (const [signal, code] of STOP_SIGNALS)
      process.on(signal, () => {
        if (isStopping) {
          codeIfKilled = code;
          child?.kill('SIGKILL');
          return;
        }
        isStopping = true;
        if (!child) return end(EXIT.ok);
        tell(STOPPING);
        stopChild();
      });
    start();
  });
}
