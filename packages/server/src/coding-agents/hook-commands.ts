// The commands that agents run, and the files beside them: rules, and the token for a server.
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { type CodingAgent, LIMIT_S, type Scope, WAIT_S } from './coding-agents.ts';
import type { HookCommands } from './configured-hook.ts';
import { onPath } from './finding.ts';

/** Outside of every project, where agents do not change it by accident. */
export const dataFile = (name: string): string => join(homedir(), '.countersign', name);

export type HookTarget = {
  readonly program: string;
  /** The address of the store. With a server, it remembers which calls are open. */
  readonly store: string;
  readonly rules: string;
  readonly url?: string | undefined;
};

export function hookCommands({ name, blocksOnFailure }: CodingAgent, to: HookTarget): HookCommands {
  const { program, store, rules, url } = to;
  const from = name === 'claude-code' ? '' : ` --from ${name}`;
  const server = url === undefined ? '' : ` --url ${word(url)} --token-file ${word(dataFile('agents.token'))}`;
  const end = `${program} hook${from} --store ${word(store)}${server}`;
  const ask = `${end} --rules ${word(rules)} --wait ${WAIT_S}`;
  if (blocksOnFailure) return { ask: `${ask} || exit 2`, end };
  return { ask: `timeout ${LIMIT_S} ${ask} || { echo 'The hook failed.' >&2; exit 2; }`, end };
}

/** How settings name the program: by its path, unless the settings are for other people too. Undefined if it is not installed. */
export function programFor(scope: Scope, folder = process.cwd()): string | undefined {
  // What npx finds or downloads belongs to the project, or does not stay.
  const stays = (path: string) => !isInside(path, folder) && !realpathSync(path).includes('/_npx/');
  const path = onPath('countersign', stays);
  if (path === undefined || scope === 'project') return path && 'countersign';
  return `${word(dirname(path))}/countersign`;
}

/** True if an agent that works in the folder may change the file. A folder that holds the home of the user is not a project. */
export function isInside(file: string, folder: string): boolean {
  const below = (path: string, top: string) => {
    const way = relative(top, path);
    return way === '' || !(way.startsWith('..') || isAbsolute(way));
  };
  return !below(homedir(), folder) && below(resolve(file), folder);
}

/** A word of a shell command. */
function word(text: string): string {
  if (!/^[\w@:./~ =,+%-]+$/.test(text))
    throw new Error(`“${text}” has characters that a shell reads differently. Use another path.`);
  const named = text.replace(`${homedir()}/`, '$HOME/');
  return text.includes(' ') ? `"${named}"` : named;
}

/** Reading asks nobody. Other tools of these agents do not change anything either. */
const HARMLESS = [
  ['Read', 'Glob', 'Grep', 'ToolSearch', 'TodoWrite', 'update_plan'],
  ['read_file', 'read_many_files', 'list_directory', 'glob'],
  ['grep_search', 'search_file_content', 'write_todos'],
  ['read', 'grep', 'list', 'todoread', 'todowrite', 'report_intent'],
];

export const DEFAULT_RULES = `{
  "rules": [
    {
      "tool": [
${HARMLESS.map((names) => `        ${names.map((name) => JSON.stringify(name)).join(', ')}`).join(',\n')}
      ],
      "then": "allow"
    }
  ]
}
`;
