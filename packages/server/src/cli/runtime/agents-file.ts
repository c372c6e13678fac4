// Loads the user's agents file with Node, and returns its agents.
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Countersign } from 'countersign';
import { checkOptions } from '../../check-options.ts';
import type { AgentsEnvironment, Config } from '../../config.ts';
import { defined } from '../../defined.ts';
import { type AppOptions, AppOptionsShape } from '../../options.ts';
import { checkedIssuers } from '../../sign-in/issuers.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { AGENTS_NAMES, CONFIG_NAMES } from './finding-agents-file.ts';
import { loadEsModules } from './module-hooks.ts';
import { applyFileRules, rulesIn } from './rules-file.ts';
import { shownPath } from './store-address.ts';

/** An agents file exports an instance with its own store, or a function that creates one on a given store. */
export type AgentsExport = {
  readonly file: string;
  /** The options for `countersign serve` that it exports as `server`. */
  readonly server: AppOptions;
  /** The rules for `countersign mcp gate` that it exports as `mcp`. They are not checked. */
  readonly mcp: unknown;
} & (
  | { readonly kind: 'instance'; readonly ai: Countersign }
  | { readonly kind: 'function'; make(environment: AgentsEnvironment): Promise<Countersign> }
);

/**
 * Loads the agents, and applies what a `countersign.config` file beside them says. That file may also export the agents itself; if
 * it exports only settings, the agents are in `agents.ts` beside it.
 */
export async function loadAgentsFile(
  file: string,
  /** Makes an instance without agents, for a file that has only settings. */
  orElse?: (environment: AgentsEnvironment) => Countersign,
  /** Settings instead of those beside the agents, or beside which the agents are. */
  settings?: string,
): Promise<AgentsExport> {
  const exported = await load(file);
  const instead = settings === undefined ? undefined : await load(settings);
  const found = agentsIn(file, exported);
  if (found) {
    if (instead) return governed(found, [...(CONFIG_NAMES.includes(basename(file)) ? [] : [exported]), instead]);
    const config = CONFIG_NAMES.includes(basename(file)) ? undefined : beside(file, CONFIG_NAMES);
    return governed(found, config === undefined ? [exported] : [exported, await load(config)]);
  }
  const agentsFile = SETTINGS.some((name) => exported[name] !== undefined) ? beside(file, AGENTS_NAMES) : undefined;
  const loaded = agentsFile === undefined ? undefined : await load(agentsFile);
  const agents = loaded && agentsIn(agentsFile ?? '', loaded);
  if (agents) return governed(agents, [loaded, instead ?? exported]);
  if (orElse && agentsFile === undefined && SETTINGS.some((name) => exported[name] !== undefined)) {
    const make = async (environment: AgentsEnvironment) => orElse(environment);
    return governed({ file, server: {}, mcp: undefined, kind: 'function', make }, [exported]);
  }
  const names = Object.keys(exported)
    .filter((name) => name !== 'file')
    .join(', ');
  const message = `must export an instance as default or \`ai\`. It exports: ${names || 'nothing'}`;
  throw invalidExport(agentsFile ?? file, message);
}

/** What a file exports. The settings of a `defineConfig` that is its default count as exports. */
type Exported = Readonly<Record<string, unknown>> & { readonly file: string };

const SETTINGS: readonly (keyof Config)[] = ['policies', 'rules', 'server', 'channels', 'signIn', 'mcp'];

async function load(file: string): Promise<Exported> {
  loadEsModules();
  try {
    const { ...exported } = await import(pathToFileURL(file).href);
    const isConfig = SETTINGS.some((name) => Object.hasOwn(Object(exported.default), name));
    const config = isConfig && !isInstance(exported.default) ? exported.default : {};
    return { ...exported, ...config, file: shownPath(file) };
  } catch (error) {
    throw cannotLoad(file, error);
  }
}

/** Undefined if the file exports no agents. */
function agentsIn(file: string, exported: Exported): AgentsExport | undefined {
  const settings = { server: {}, mcp: undefined };
  for (const value of [exported.default, exported.ai]) {
    if (isInstance(value)) return { file, ...settings, kind: 'instance', ai: value };
    if (typeof value === 'function')
      return { file, ...settings, kind: 'function', make: (environment) => make(file, value, environment) };
  }
  return undefined;
}

/** The agents, under the settings of these files. */
function governed(agents: AgentsExport, files: readonly Exported[]): AgentsExport {
  const rules = files.flatMap(rulesIn);
  const server = Object.assign({}, ...files.map(serverOptions));
  const mcp = files.findLast((exported) => exported.mcp !== undefined)?.mcp;
  const found = { ...agents, server, mcp };
  if (found.kind === 'instance') {
    applyFileRules(found.ai, rules);
    return found;
  }
  const made = async (environment: AgentsEnvironment): Promise<Countersign> => {
    const ai = await found.make(environment);
    applyFileRules(ai, rules);
    return ai;
  };
  return { ...found, make: made };
}

const beside = (file: string, names: readonly string[]): string | undefined =>
  names.map((name) => join(dirname(file), name)).find((path) => existsSync(path));

async function make(path: string, made: unknown, environment: AgentsEnvironment): Promise<Countersign> {
  let ai: unknown;
  try {
    ai = await (made as (environment: AgentsEnvironment) => unknown)(environment);
  } catch (error) {
    throw cannotLoad(path, error);
  }
  if (isInstance(ai)) return ai;
  throw invalidExport(path, `exports a function that returns ${ai === undefined ? 'nothing' : 'something else'}`);
}

function serverOptions({ file, server = {}, channels, signIn }: Exported): AppOptions {
  try {
    checkOptions('`server`', AppOptionsShape, server);
    const options = { ...(server as AppOptions), ...defined({ channels, signIn }) };
    checkOptions('`channels` and `signIn`', AppOptionsShape, options);
    if (Array.isArray(signIn)) checkedIssuers(signIn);
    return options as AppOptions;
  } catch (cause) {
    const message = `Invalid \`server\` options in ${file}: ${(cause as Error).message}`;
    throw new CommandFailure(EXIT.failure, 'agents-file', message, { cause });
  }
}

/** Checks the shape, because the file may use another copy of the library. */
function isInstance(value: unknown): value is Countersign {
  if (typeof value !== 'object' || value === null) return false;
  const { agents, defineAgent } = value as Partial<Countersign>;
  return typeof defineAgent === 'function' && typeof agents?.get === 'function';
}

function invalidExport(path: string, what: string): CommandFailure {
  return new CommandFailure(EXIT.failure, 'agents-file', `${shownPath(path)} ${what}.`, {
    hint: 'Use: export default countersign({ store, … }), or export default ({ store, model }) => countersign({ store, model })',
  });
}

function cannotLoad(path: string, error: unknown): CommandFailure {
  const { code, stack = String(error) } = (error ?? {}) as Error & { readonly code?: string };
  // Node writes the file, the line and a marker before the message of a syntax error. Its own frames say nothing.
  const lines = stack.split('\n').filter((line) => line.trim() !== '' && !/^\s+at .*(node:|node_modules)/.test(line));
  const about = lines.map((line) => `    ${line.replaceAll('file://', '')}`).join('\n');
  const isMissingName = error instanceof SyntaxError && stack.includes('does not provide an export');
  const hint = isMissingName ? 'Fix the name or export it. Import types with `import type`.' : LOAD_HINTS[code ?? ''];
  return new CommandFailure(EXIT.failure, 'agents-file', `${shownPath(path)} failed to load:\n${about}`, {
    cause: error,
    ...defined({ hint }),
  });
}

const LOAD_HINTS: Readonly<Record<string, string>> = {
  ERR_MODULE_NOT_FOUND: 'Install the package or fix the path. Relative imports end in .ts',
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX: 'Node only strips types: enum, namespace and parameter properties do not work.',
};
