// The hooks of the agents whose settings need no reading of their own: Cursor, Gemini CLI, OpenCode and Copilot CLI.
import { parse } from 'jsonc-parser';
import { isRecord } from '../is-record.ts';
import { hooksIn } from './claude-settings.ts';
import type { CodingAgent } from './coding-agents.ts';
import { type ConfiguredHook, type ConfiguredHooks, DEFAULT_TIMEOUT_SECONDS } from './configured-hook.ts';
import { readText } from './installing.ts';
import { commandsIn } from './settings-edit.ts';

export function otherHooks(agent: CodingAgent): ConfiguredHooks {
  const hooks: ConfiguredHook[] = [];
  const mistakes: ConfiguredHooks['mistakes'][number][] = [];
  for (const file of Object.values(agent.file)) {
    try {
      const text = readText(file);
      if (text !== undefined) hooks.push(...hooksOf(agent, text).map((hook) => ({ ...hook, file })));
    } catch (error) {
      mistakes.push({ file, text: `cannot be read: ${(error as Error).message}`, fix: 'Correct the file.' });
    }
  }
  return { hooks, mistakes };
}

function hooksOf(agent: CodingAgent, text: string): readonly Omit<ConfiguredHook, 'file'>[] {
  const commands = commandsIn(agent, text);
  const { settings } = agent;
  if (settings.kind === 'plugin') {
    const { ask, end } = commands ?? {};
    const common = { matcher: undefined, timeoutSeconds: Number.POSITIVE_INFINITY, blocksOnFailure: undefined };
    if (ask === undefined || end === undefined) return [];
    return [
      { event: 'PreToolUse', command: ask, ...common },
      { event: 'PostToolUse', command: end, ...common },
    ];
  }
  const found = parse(text) as { readonly hooks?: unknown; readonly disableAllHooks?: unknown; hooksConfig?: unknown };
  const isOff = found.disableAllHooks === true || (isRecord(found.hooksConfig) && found.hooksConfig.enabled === false);
  const named = new Map([
    [settings.asksOn, 'PreToolUse'],
    ...settings.endsOn.map((event) => [event, 'PostToolUse'] as const),
  ]);
  const grouped = settings.isGrouped ? found.hooks : inGroups(found.hooks);
  return hooksIn(grouped).map(({ event, timeoutSeconds, blocksOnFailure, ...hook }) => ({
    ...hook,
    event: named.get(event) ?? event,
    // Gemini CLI counts milliseconds.
    timeoutSeconds: agent.name === 'gemini-cli' ? timeoutSeconds / 1_000 : timeoutSeconds,
    blocksOnFailure: agent.blocksOnFailure ? blocksOnFailure : undefined,
    ...(isOff && { skipped: 'the settings turn hooks off', fix: 'Turn hooks on.' }),
  }));
}

/** Hooks without groups, as if each were in one. Agents name the same things differently. */
function inGroups(hooks: unknown): unknown {
  const entries = Object.entries(isRecord(hooks) ? hooks : {});
  const groupOf = (hook: unknown) => {
    if (!isRecord(hook)) return {};
    const { matcher, command = hook.bash, timeout = hook.timeoutSec ?? DEFAULT_TIMEOUT_SECONDS, failClosed } = hook;
    return { matcher, hooks: [{ type: 'command', command, timeout, onFailure: failClosed === true && 'block' }] };
  };
  return Object.fromEntries(entries.map(([event, list]) => [event, Array.isArray(list) ? list.map(groupOf) : []]));
}
