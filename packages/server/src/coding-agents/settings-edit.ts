// Adds our hooks to the settings of a coding agent and takes them out again. Everything else stays as it is.
import { getNodeValue, type ParseError, parseTree } from 'jsonc-parser';
import { isRecord } from '../is-record.ts';
import type { CodingAgent } from './coding-agents.ts';
import { type HookCommands, isOurs } from './configured-hook.ts';
import { inserted, type Path, removed } from './json-text.ts';

type JsonSettings = CodingAgent['settings'] & { readonly kind: 'json' };

/** The text with our hooks. `text` is undefined if the file does not exist. Throws if the text cannot be read. */
export function withHooks({ settings, title }: CodingAgent, text: string | undefined, commands: HookCommands): string {
  if (settings.kind === 'plugin') {
    if (text !== undefined) throw new Error('It exists, and Countersign did not write it.');
    return settings.text(commands);
  }
  let edited = text?.trim() ? text : '{}\n';
  const root = read(edited, settings, title);
  for (const [name, value] of Object.entries(settings.head))
    if (root[name] === undefined) edited = inserted(edited, [name], value);
  edited = inserted(edited, ['hooks', settings.asksOn, -1], settings.ask(commands.ask));
  for (const event of settings.endsOn) edited = inserted(edited, ['hooks', event, -1], settings.end(commands.end));
  return edited;
}

/** The commands of our hooks; undefined if the text has none of them. */
export function commandsIn({ settings, title }: CodingAgent, text: string): HookCommands | undefined {
  if (settings.kind === 'plugin') {
    const [ask, end] = [...text.matchAll(/^const (?:ASK|END) = (".*");$/gm)].map(([, found = '']) => JSON.parse(found));
    return ask !== undefined && settings.text({ ask, end }) === text ? { ask, end } : undefined;
  }
  const ours = oursIn(read(text, settings, title));
  const of = (event: string | undefined) => ours.find(({ path }) => path[1] === event)?.command;
  const [ask, end] = [of(settings.asksOn), of(settings.endsOn[0])];
  return ours.length === 0 ? undefined : { ask: ask ?? '', end: end ?? '' };
}

/**
 * The text without our hooks; undefined if the file is to go. `before` is the text from before they were added, undefined if there was
 * no file: it comes back byte for byte, unless somebody else has changed the file since.
 */
export function withoutHooks(agent: CodingAgent, text: string, before: string | undefined): string | undefined {
  const commands = commandsIn(agent, text);
  if (commands === undefined) return text;
  if (agent.settings.kind === 'plugin' || withHooks(agent, before, commands) === text) return before;
  let edited = text;
  for (;;) {
    const root = read(edited, agent.settings, agent.title);
    const last = oursIn(root).at(-1);
    if (last === undefined) return edited;
    edited = removed(edited, outermost(root, last.path));
  }
}

/** The JSON of the settings. Throws if the agent could not read it either. */
function read(text: string, { hasComments }: JsonSettings, title: string): { readonly [name: string]: unknown } {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: hasComments, disallowComments: !hasComments });
  const [first] = errors;
  if (first) {
    const line = text.slice(0, first.offset).split('\n').length;
    throw new Error(`${title} cannot read line ${line}, so it was left alone. Correct it, and run the command again.`);
  }
  const root: unknown = tree && getNodeValue(tree);
  const { hooks = {} } = isRecord(root) ? root : { hooks: null };
  if (isRecord(root) && isRecord(hooks) && Object.values(hooks).every((list) => Array.isArray(list))) return root;
  throw new Error(`It has other contents than ${title} expects, so it was left alone.`);
}

/** Our hooks, with their paths, in the order of the file. Some agents keep hooks in groups. */
function oursIn({ hooks }: { readonly [name: string]: unknown }): readonly { path: Path; command: string }[] {
  const found = (value: unknown, path: Path) => {
    const { command = undefined, bash = undefined } = isRecord(value) ? value : {};
    const text = command ?? bash;
    return typeof text === 'string' && isOurs({ command: text }) ? [{ path, command: text }] : [];
  };
  const lists = Object.entries(isRecord(hooks) ? hooks : {}) as [string, readonly unknown[]][];
  return lists.flatMap(([event, list]) =>
    list.flatMap((item, index) => {
      const group = isRecord(item) && Array.isArray(item.hooks) ? (item.hooks as unknown[]) : undefined;
      if (!group) return found(item, ['hooks', event, index]);
      return group.flatMap((hook, inner) => found(hook, ['hooks', event, index, 'hooks', inner]));
    }),
  );
}

/** The largest part that holds nothing but this hook: a group, a list, or all hooks. */
function outermost(root: unknown, path: Path): Path {
  let largest = path;
  for (let length = path.length - 1; length > 0; length--) {
    const part = path.slice(0, length).reduce<any>((value, step) => value[step], root);
    const names = Object.keys(part).filter((name) => !['matcher', 'sequential'].includes(name));
    if (names.length > 1) break;
    largest = path.slice(0, length);
  }
  return largest;
}
