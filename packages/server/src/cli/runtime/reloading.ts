// Reloads by restarting: a child process serves, and is replaced when a file that it loaded changes.
import { type ChildProcess, spawn } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { EXIT } from '../failure.ts';
import { isAgentsFileName } from './finding-agents-file.ts';
import { STOP_SIGNALS, STOPPING } from './stopping.ts';

/** Messages from the serving process to the watching one. */
export type ServingMessage =
  | { readonly type: 'loaded'; readonly files: readonly string[] }
  | { readonly type: 'listening'; readonly port: number }
  /** The agents file could not be loaded; a change may fix it. */
  | { readonly type: 'unloadable' };

/** Environment variables that tell the serving process its role and port. */
export const DEV_ROLE = 'COUNTERSIGN_DEV_ROLE';
export const DEV_PORT = 'COUNTERSIGN_DEV_PORT';

const RELOADED = new Set(['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.prompt']);
/** Editors write a file in several steps. */
const DEBOUNCE_MS = 100;
/** A process that has not stopped by then is killed. Longer than a clean stop waits for a model. */
const STOP_TIMEOUT_MS = 12_000;

type ReloadOptions = { readonly folders: readonly string[]; tell(text: string): void };

/** Runs a serving process and restarts it on changes. Resolves with the exit code when it is stopped or cannot start. */
export function keepServing(command: readonly string[], { folders, tell }: ReloadOptions): Promise<number> {
  return new Promise((resolve) => {
    const watchers = new Map<string, FSWatcher>();
    let child: ChildProcess | undefined;
    let port: number | undefined;
    let isStopping = false;
    let isChanged = false;
    let timer: NodeJS.Timeout | undefined;
    const changes: (readonly [folder: string, name: string])[] = [];
    /** The files that the serving process loaded; undefined while it loads and after it ended. */
    let loaded: ReadonlySet<string> | undefined;

    const end = (code: number) => {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      resolve(code);
    };
    const stopChild = () => {
      const stopped = child;
      stopped?.kill('SIGTERM');
      setTimeout(() => {
        if (stopped === child && stopped?.kill('SIGKILL'))
          tell(
            `The server did not stop within ${STOP_TIMEOUT_MS / 1_000} seconds and was killed. The outcome of a running call is unknown.`,
          );
      }, STOP_TIMEOUT_MS).unref();
    };
    /** Ignores files that were not loaded, unless loading failed: agents write files, too. */
    const isRelevant = (folder: string, name: string): boolean => {
      if (!RELOADED.has(extname(name))) return false;
      return !loaded || loaded.has(join(folder, name)) || extname(name) === '.prompt' || isAgentsFileName(name);
    };
    const changed = (folder: string, name: string | null) => {
      if (isStopping || name === null) return;
      changes.push([folder, name]);
      clearTimeout(timer);
      timer = setTimeout(() => {
        const found = changes.splice(0).find((change) => isRelevant(...change));
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
        // The folder is gone.
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
      started.on('exit', (code, signal) => {
        child = undefined;
        loaded = undefined;
        if (isStopping) return end(signal === 'SIGKILL' ? EXIT.failure : EXIT.ok);
        if (isChanged) return start();
        if (!isUnloadable && port === undefined) return end(code ?? EXIT.failure);
        if (!isUnloadable) tell(`The server exited (${code ?? 'by a signal'}).`);
        tell('Waiting for a file change …');
      });
    };

    for (const folder of folders) follow(folder);
    for (const [signal, code] of STOP_SIGNALS)
      process.on(signal, () => {
        if (isStopping) {
          child?.kill('SIGKILL');
          process.exit(code);
        }
        isStopping = true;
        if (!child) return end(EXIT.ok);
        tell(STOPPING);
        stopChild();
      });
    start();
  });
}
