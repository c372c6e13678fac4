// The coding agents that can ask here: their programs, their settings files, and their hooks there.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AgentName } from './agent-names.ts';
import type { HookCommands } from './configured-hook.ts';
import { pluginText } from './opencode-plugin.ts';

/** Settings of a person, for all projects; or of the project in a folder. */
export type Scope = 'user' | 'project';

export type CodingAgent = {
  readonly name: AgentName;
  readonly title: string;
  /** The names of its program on PATH. */
  readonly programs: readonly string[];
  /** The folder of the settings of a person. */
  readonly folder: string;
  readonly file: { readonly [scope in Scope]: string };
  readonly settings:
    | {
        readonly kind: 'json';
        /** Values that the file needs beside the hooks. */
        readonly head: { readonly [name: string]: unknown };
        readonly hasComments: boolean;
        readonly asksOn: string;
        readonly endsOn: readonly string[];
        /** Whether hooks are in groups with a matcher. */
        readonly isGrouped: boolean;
        readonly ask: (command: string) => object;
        readonly end: (command: string) => object;
      }
    /** The whole file is ours. */
    | { readonly kind: 'plugin'; readonly text: (commands: HookCommands) => string };
  /** Its own setting blocks calls if the hook fails; otherwise the command must. */
  readonly blocksOnFailure: boolean;
  /** What a person has to know or to do, after the installation. */
  readonly afterwards?: string;
};

/** How long the agents wait for the hook, and how long `timeout` lets it run. */
const HOOK_S = 3_600;
export const LIMIT_S = 3_550;
export const WAIT_S = 3_500;

const grouped = (hook: object) => ({ matcher: '*', hooks: [{ type: 'command', ...hook }] });

export function codingAgents(folder = process.cwd(), { env } = process): readonly CodingAgent[] {
  const home = (name: string, own?: string) => (own ? resolve(own) : join(homedir(), name));
  const places = (base: string, user: string, project: string) => ({
    folder: base,
    file: { user: join(base, user), project: resolve(folder, project) },
  });
  return [
    {
      name: 'claude-code',
      title: 'Claude Code',
      programs: ['claude'],
      ...places(home('.claude', env.CLAUDE_CONFIG_DIR), 'settings.json', '.claude/settings.json'),
      settings: {
        ...JSON_FILE,
        asksOn: 'PreToolUse',
        endsOn: ['PostToolUse', 'PostToolUseFailure'],
        ask: (command) => grouped({ command, timeout: HOOK_S, onFailure: 'block' }),
        end: (command) => grouped({ command }),
      },
      blocksOnFailure: true,
    },
    {
      name: 'codex',
      title: 'Codex',
      programs: ['codex'],
      ...places(home('.codex', env.CODEX_HOME), 'hooks.json', '.codex/hooks.json'),
      settings: {
        ...JSON_FILE,
        asksOn: 'PreToolUse',
        endsOn: ['PostToolUse'],
        ask: (command) => grouped({ command, timeout: HOOK_S }),
        end: (command) => grouped({ command }),
      },
      blocksOnFailure: false,
      afterwards: 'Start codex, enter /hooks, and trust the hooks. Until then Codex skips them, and its calls run.',
    },
    {
      name: 'cursor',
      title: 'Cursor',
      programs: ['cursor-agent', 'cursor'],
      ...places(home('.cursor'), 'hooks.json', '.cursor/hooks.json'),
      settings: {
        ...JSON_FILE,
        head: { version: 1 },
        isGrouped: false,
        asksOn: 'preToolUse',
        endsOn: ['postToolUse', 'postToolUseFailure'],
        ask: (command) => ({ command, timeout: HOOK_S, failClosed: true }),
        end: (command) => ({ command }),
      },
      blocksOnFailure: true,
    },
    {
      name: 'gemini-cli',
      title: 'Gemini CLI',
      programs: ['gemini'],
      ...places(home('.gemini'), 'settings.json', '.gemini/settings.json'),
      settings: {
        ...JSON_FILE,
        hasComments: true,
        asksOn: 'BeforeTool',
        endsOn: ['AfterTool'],
        ask: (command) => grouped({ command, timeout: HOOK_S * 1_000 }),
        end: (command) => grouped({ command }),
      },
      blocksOnFailure: false,
    },
    {
      name: 'opencode',
      title: 'OpenCode',
      programs: ['opencode'],
      ...places(
        env.OPENCODE_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'opencode'),
        'plugins/countersign.js',
        '.opencode/plugins/countersign.js',
      ),
      settings: { kind: 'plugin', text: pluginText },
      blocksOnFailure: false,
    },
    {
      name: 'copilot-cli',
      title: 'Copilot CLI',
      programs: ['copilot'],
      ...places(home('.copilot', env.COPILOT_HOME), 'hooks/countersign.json', '.github/hooks/countersign.json'),
      settings: {
        ...JSON_FILE,
        head: { version: 1 },
        isGrouped: false,
        asksOn: 'PreToolUse',
        endsOn: ['PostToolUse', 'PostToolUseFailure'],
        ask: (bash) => ({ type: 'command', bash, timeoutSec: HOOK_S }),
        end: (bash) => ({ type: 'command', bash }),
      },
      blocksOnFailure: false,
    },
  ];
}

const JSON_FILE = { kind: 'json', head: {}, hasComments: false, isGrouped: true } as const;
