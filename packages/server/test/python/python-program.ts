// Python programs that use the package, each with a file that it writes its effects to.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { pythonPath } from '../../../../scripts/python.mjs';

export const PACKAGE = join(import.meta.dirname, '../../../../clients/python');

export type Ended = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What the program printed: each line is JSON. */
  readonly out: readonly any[];
  readonly err: string;
};

/** A program that runs. `said` resolves once its standard error has the text. */
export type Program = {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  said(text: string): Promise<void>;
};

/** What every program begins with: `act` has the effect, `show` prints a value. */
const HEAD = `
import asyncio, json, os, signal, sys, time
import countersign
from countersign import *
gate = Gate.from_environment(lease=int(os.environ.get("LEASE", "120")))
def act(*values):
    with open(os.environ["EFFECTS"], "a") as file: file.write(json.dumps(values) + "\\n")
def show(value): print(json.dumps(value), flush=True)
def fails(work):
    try: show(["returned", work()])
    except (CountersignError, NotPerformed) as error: show([type(error).__name__, str(error)])
`;

export function place(url: string, token: string) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-python-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'effects');
  const environment = {
    PATH: process.env.PATH,
    PYTHONPATH: join(PACKAGE, 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONWARNINGS: 'error',
    COUNTERSIGN_URL: url,
    COUNTERSIGN_TOKEN: token,
    EFFECTS: file,
  };
  const start = (args: readonly string[], more: Record<string, string> = {}, python = pythonPath()): Program => {
    const child = spawn(python, args, { cwd: folder, env: { ...environment, ...more } });
    onTestFinished(() => void child.kill('SIGKILL'));
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const ended = once(child, 'close').then(([code, signal]) => ({
      code,
      signal,
      err,
      out: out.split('\n').flatMap((line) => (line === '' ? [] : [jsonIn(line)])),
    }));
    const said = async (text: string) => {
      while (!err.includes(text)) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`The program ended before it said ${text}:\n${err}`);
        await Promise.race([once(child.stderr, 'data'), once(child, 'close')]);
      }
    };
    return { child, ended, said };
  };
  return {
    folder,
    start,
    effects: (): readonly any[] =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line))
        : [],
    run: (code: string, more?: Record<string, string>): Program => {
      const path = join(folder, 'program.py');
      writeFileSync(path, HEAD + code);
      return start([path], more);
    },
  };
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}
