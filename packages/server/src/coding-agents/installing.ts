// Plans and makes the changes to the settings of coding agents: atomically, and with a copy of what was there before.
import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CodingAgent, Scope } from './coding-agents.ts';
import type { HookCommands } from './configured-hook.ts';
import { commandsIn, withHooks, withoutHooks } from './settings-edit.ts';

/** A change of one file. Undefined texts: the file does not exist. */
export type Change = {
  readonly file: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Of a new file. */
  readonly mode?: number;
  /** What the copy beside the file becomes. */
  readonly copy?: string | undefined;
};

const copyOf = (file: string): string => `${file}.before-countersign`;

/** Throws if the file cannot be read or understood. The change is empty if the hooks are there. */
export function installation(agent: CodingAgent, scope: Scope, commands: HookCommands): Change {
  const file = agent.file[scope];
  const before = readText(file);
  const base = before === undefined ? undefined : withoutHooks(agent, before, readText(copyOf(file)));
  return { file, before, after: withHooks(agent, base, commands), copy: base };
}

/** Undefined if the file has no hooks of ours. */
export function removal(agent: CodingAgent, scope: Scope): Change | undefined {
  const file = agent.file[scope];
  const [before, copy] = [readText(file), readText(copyOf(file))];
  if (before === undefined || commandsIn(agent, before) === undefined) return undefined;
  const after = withoutHooks(agent, before, copy);
  return { file, before, after, copy: after === copy ? undefined : copy };
}

export const isChanged = ({ before, after }: Change): boolean => before !== after;

/** Throws if another program has changed the file since the change was planned. */
export function make({ file, before, after, copy, mode }: Change): void {
  if (readText(file) !== before) throw new Error('It was changed meanwhile. Run the command again.');
  put(copyOf(file), copy);
  put(file, after, mode);
}

/** The opposite change. */
export const undone = ({ file, before, after }: Change): Change => ({ file, before: after, after: before });

function put(file: string, text: string | undefined, mode?: number): void {
  if (text === undefined) return rmSync(file, { force: true });
  mkdirSync(dirname(file), { recursive: true });
  const { target, mode: now = mode ?? 0o600 } = existing(file);
  const fresh = `${target}.${process.pid}.tmp`;
  try {
    writeFileSync(fresh, text, { mode: now, flush: true });
    chmodSync(fresh, now);
    renameSync(fresh, target);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** Settings are often links to a repository: the link stays. */
function existing(file: string): { readonly target: string; readonly mode?: number } {
  try {
    const target = realpathSync(file);
    return { target, mode: statSync(target).mode & 0o777 };
  } catch {
    return { target: file };
  }
}

export function readText(file: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
