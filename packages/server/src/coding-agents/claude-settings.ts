// The hooks of Claude Code, from its settings files: those of the machine, the user and the project.
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { isRecord } from '../is-record.ts';
import { type ConfiguredHook, type ConfiguredHooks, DEFAULT_TIMEOUT_SECONDS } from './configured-hook.ts';

const MANAGED =
  process.platform === 'darwin'
    ? '/Library/Application Support/ClaudeCode/managed-settings.json'
    : '/etc/claude-code/managed-settings.json';

export function claudeHooks(folder = process.cwd(), { env } = process): ConfiguredHooks {
  const own = env.CLAUDE_CONFIG_DIR || join(homedir(), '.claude');
  const files = [MANAGED, ...[own, resolve(folder, '.claude')].map((place) => join(place, 'settings.json'))];
  const read = [...files, resolve(folder, '.claude/settings.local.json')].map(readSettings);
  const settings = read.filter((found) => 'settings' in found);
  // A person who turns hooks off turns off all but those of the machine.
  const off = settings.find((found) => found.settings.disableAllHooks === true);
  const managedOnly = settings.find(
    ({ file, settings }) => file === MANAGED && settings.allowManagedHooksOnly === true,
  );
  const skipped = (file: string) => {
    if (file === MANAGED && off?.file !== MANAGED) return undefined;
    if (off) return `"disableAllHooks" in ${off.file} turns it off`;
    return managedOnly && 'the machine allows only its own hooks';
  };
  const fix = off ? 'Remove "disableAllHooks".' : `Configure it in ${MANAGED}.`;
  return {
    hooks: settings.flatMap(({ file, settings }) =>
      hooksIn(settings.hooks).map((hook) => ({ ...hook, file, skipped: skipped(file), fix })),
    ),
    mistakes: read.filter((found) => 'text' in found),
  };
}

type Read =
  | { readonly file: string; readonly settings: { readonly [key: string]: unknown } }
  | { readonly file: string; readonly text: string; readonly fix: string }
  | { readonly file: string };

function readSettings(file: string): Read {
  try {
    const settings: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isRecord(settings)) return { file, settings };
    throw new Error('it is not an object');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { file };
    const text = `cannot be read, so nothing in it is in effect: ${message}`;
    return { file, text, fix: 'Correct the file.' };
  }
}

/** Both agents write hooks in this shape: by event, groups with a matcher, and commands in them. */
export function hooksIn(value: unknown): readonly Omit<ConfiguredHook, 'file'>[] {
  if (!isRecord(value)) return [];
  const items = (list: unknown) => (Array.isArray(list) ? list.filter(isRecord) : []);
  return Object.entries(value).flatMap(([event, groups]) =>
    items(groups).flatMap(({ matcher, hooks }) =>
      items(hooks)
        .filter(({ type, command }) => type === 'command' && typeof command === 'string')
        .map(({ command, timeout, onFailure }) => ({
          event,
          matcher: typeof matcher === 'string' ? matcher : undefined,
          command: String(command),
          timeoutSeconds: typeof timeout === 'number' ? timeout : DEFAULT_TIMEOUT_SECONDS,
          blocksOnFailure: onFailure === 'block',
        })),
    ),
  );
}
