// The user's file: found, loaded by Node itself, and asked for its agents.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Countersign, ModelInput, Providers } from 'countersign';
import type { Store } from 'countersign/store';
import { checkOptions } from '../../check-options.ts';
import { type AppOptions, AppOptionsShape } from '../../options.ts';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';
import { loadModulesAsSuch } from './module-files.ts';

/**
 * What a file that exports a function is given, so that the same agents work on any store and model.
 * @example
 * export default ({ store, model, providers }: AgentsEnvironment) => {
 *   const ai = countersign({ store, model, providers });
 *   ai.defineAgent({ name: 'assistant', tools: [] });
 *   return ai;
 * };
 */
export type AgentsEnvironment = {
  /** The store that was asked for on the command line. */
  readonly store: Store;
  /** The model that the environment names, or the demo model, with its providers. */
  readonly model: ModelInput;
  readonly providers: Providers;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** What a file exports: agents on a store of their own, or a function that puts them on the store that it is given. */
export type AgentsExport = {
  /** What it exports as `server`: who asks and who may decide, for `countersign serve`. */
  readonly server: AppOptions;
} & (
  | { readonly kind: 'instance'; readonly ai: Countersign }
  | { readonly kind: 'function'; make(environment: AgentsEnvironment): Promise<Countersign> }
);

const NAMES = ['countersign.config', 'agents'].flatMap((name) =>
  ['ts', 'mts', 'js', 'mjs'].map((end) => `${name}.${end}`),
);

export const isAgentsFileName = (name: string): boolean => NAMES.includes(name);

/** The file that was named, or the one that is there under a usual name. */
export function findAgentsFile(named: string | undefined, folder = process.cwd()): string | undefined {
  if (named !== undefined) {
    const path = resolve(folder, named);
    if (existsSync(path)) {
      if (!statSync(path).isDirectory()) return path;
      throw usageFailure(`${shownPath(path)} is a folder; name the file with your agents.`);
    }
    throw new CommandFailure(EXIT.notFound, 'no-agents-file', `There is no file ${shownPath(path)}.`, {
      hint: `Without a name, these are looked for: ${NAMES.filter((name) => name.endsWith('.ts')).join(', ')}`,
    });
  }
  return NAMES.map((name) => resolve(folder, name)).find((path) => existsSync(path));
}

export async function loadAgentsFile(path: string): Promise<AgentsExport> {
  let exported: Readonly<Record<string, unknown>>;
  loadModulesAsSuch();
  try {
    exported = await import(pathToFileURL(path).href);
  } catch (error) {
    throw cannotLoad(path, error);
  }
  const server = serverOptions(path, exported.server);
  for (const value of [exported.default, exported.ai]) {
    if (isInstance(value)) return { server, kind: 'instance', ai: value };
    if (typeof value === 'function')
      return { server, kind: 'function', make: (environment) => make(path, value, environment) };
  }
  const names = Object.keys(exported).join(', ') || 'nothing';
  throw useless(path, `exports ${names}, and neither a default nor \`ai\` that is an instance`);
}

/** A path as it is said to people: from where they are, if it is below. */
export function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}

async function make(path: string, made: unknown, environment: AgentsEnvironment): Promise<Countersign> {
  let ai: unknown;
  try {
    ai = await (made as (environment: AgentsEnvironment) => unknown)(environment);
  } catch (error) {
    throw cannotLoad(path, error);
  }
  if (isInstance(ai)) return ai;
  throw useless(path, `exports a function that gives ${ai === undefined ? 'nothing' : 'something else'}`);
}

function serverOptions(path: string, server: unknown): AppOptions {
  if (server === undefined) return {};
  if (typeof server !== 'object' || server === null)
    throw useless(path, 'exports a `server` that is no object of options');
  try {
    checkOptions('`server`', AppOptionsShape, server);
    return server;
  } catch (cause) {
    const message = `${shownPath(path)} cannot be served: ${(cause as Error).message}`;
    throw new CommandFailure(EXIT.failure, 'agents-file', message, { cause });
  }
}

/** By its shape: the file may bring another copy of the library. */
function isInstance(value: unknown): value is Countersign {
  if (typeof value !== 'object' || value === null) return false;
  const { agents, defineAgent } = value as Partial<Countersign>;
  return typeof defineAgent === 'function' && typeof agents?.get === 'function';
}

function useless(path: string, what: string): CommandFailure {
  return new CommandFailure(EXIT.failure, 'agents-file', `${shownPath(path)} ${what}.`, {
    hint: 'Write: export default countersign({ store, … }), or export default ({ store, model }) => countersign({ store, model })',
  });
}

function cannotLoad(path: string, error: unknown): CommandFailure {
  const { code, message = String(error), stack = '' } = (error ?? {}) as Error & { code?: string };
  const file = shownPath(path);
  const options = { cause: error };
  const { place, from } = placeIn(stack, message);
  const isNameMissing = error instanceof SyntaxError && /does not provide an export/.test(message);
  if (code === 'ERR_MODULE_NOT_FOUND' || isNameMissing)
    return new CommandFailure(
      EXIT.failure,
      'agents-file',
      `${file} imports what is not there: ${firstLine(message)}${isNameMissing ? place : ''}`,
      {
        ...options,
        hint: isNameMissing
          ? 'Correct the name, or export it there; a type is imported with `import type`.'
          : 'Install the package, or correct the path; relative imports end in .ts',
      },
    );
  const where = from === undefined || from === realpathSync(path) ? file : `${shownPath(from)}, which ${file} imports,`;
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return new CommandFailure(EXIT.failure, 'agents-file', `${where} cannot be run: ${message}${place}`, {
      ...options,
      hint: 'Node runs TypeScript by removing the types: no enum, no namespace, no parameter properties.',
    });
  if (error instanceof SyntaxError || code === 'ERR_INVALID_TYPESCRIPT_SYNTAX')
    return new CommandFailure(EXIT.failure, 'agents-file', `${where} has a syntax error: ${message}${place}`, options);
  const frame = /\((?:file:\/\/)?([^()\s]+:\d+:\d+)\)|at (?:file:\/\/)?(\/\S+:\d+:\d+)/.exec(stack);
  const thrown = frame ? `\n    at ${frame[1] ?? frame[2]}` : '';
  return new CommandFailure(
    EXIT.failure,
    'agents-file',
    `${file} failed while it was loaded: ${message}${thrown}`,
    options,
  );
}

const firstLine = (text: string): string => text.split('\n')[0] ?? '';

/** The engine writes the place, the line and a mark under it before the message. */
function placeIn(stack: string, message: string): { readonly place: string; readonly from: string | undefined } {
  const before = stack
    .slice(0, Math.max(0, stack.indexOf(firstLine(message))))
    .split('\n')
    .slice(0, -1);
  const lines = before.map((line) => line.replace(/^file:\/\//, '')).filter((line) => line.trim() !== '');
  const place = lines.length > 0 ? `\n${lines.map((line) => `    ${line}`).join('\n')}` : '';
  return { place, from: /^(.+):\d+$/.exec(lines[0] ?? '')?.[1] };
}
