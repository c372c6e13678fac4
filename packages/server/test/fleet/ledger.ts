// What the processes of a fleet did, as lines of a file. Each line is on the disk before the process continues.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * `ask` and `reply` surround a call of the model, `begin` and `end` the body of a tool. `effect` is what cannot be undone.
 * `order` is the id of the run.
 */
export type Line = {
  readonly what: 'ask' | 'reply' | 'begin' | 'effect' | 'end';
  readonly order: string;
  /** Absent for calls of the model. */
  readonly tool?: string;
  readonly pid: number;
  readonly build: string;
  readonly at: number;
};

export function writeLine(path: string, line: Line): void {
  const file = openSync(path, 'a');
  try {
    writeSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

export function readLines(path: string): readonly Line[] {
  if (!existsSync(path)) return [];
  // A process that is killed may leave half a line; all others write whole ones.
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((text) => (text.endsWith('}') ? [JSON.parse(text) as Line] : []));
}

const isStart = ({ what }: Line): boolean => what === 'ask' || what === 'begin';

/** The model calls and tool bodies that this process began and did not finish. */
export function unfinishedOf(lines: readonly Line[], pid: number): readonly Line[] {
  const open = new Map<string, Line>();
  for (const line of lines) {
    if (line.pid !== pid || line.what === 'effect') continue;
    const key = `${line.order} ${line.tool ?? ''}`;
    if (isStart(line)) open.set(key, line);
    else open.delete(key);
  }
  return [...open.values()];
}
