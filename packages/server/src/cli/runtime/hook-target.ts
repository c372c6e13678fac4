// Where the hooks of coding agents ask: a server, or a store outside the project; and the files that they need beside it.
import { homedir } from 'node:os';
import type { CodingAgent, Scope } from '../../coding-agents/coding-agents.ts';
import { codingAgents } from '../../coding-agents/coding-agents.ts';
import { DEFAULT_RULES, dataFile, type HookTarget, isInside, programFor } from '../../coding-agents/hook-commands.ts';
import { type Change, isChanged, readText, removal } from '../../coding-agents/installing.ts';
import type { BackendOptions } from '../commands/options.ts';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';
import { serverToken, serverUrl } from './opening.ts';
import { shownAddress, storeFile } from './store-address.ts';

type Options = Pick<BackendOptions, 'store' | 'url' | 'token'> & { readonly rules?: string; readonly scope: Scope };

const RULES = 'agent-rules.json';
const TOKEN = 'agents.token';

export async function targetOf({ scope, rules, ...options }: Options) {
  if (process.platform === 'win32')
    throw new CommandFailure(EXIT.failure, 'no-shell', 'The hooks need a POSIX shell. On Windows, use WSL.');
  const program = programFor(scope);
  if (program === undefined)
    throw new CommandFailure(EXIT.failure, 'not-installed', 'countersign is not on PATH outside of this project.', {
      hint: 'Install it where agents do not change it: npm install --global countersign @countersign/server',
    });
  const url = serverUrl(options);
  const store = placed(url === undefined ? (options.store ?? process.env.COUNTERSIGN_STORE) : undefined);
  const target: HookTarget = { program, store, rules: rules ?? dataFile(RULES), url };
  for (const file of [storeFile(store), target.rules])
    if (file !== undefined && isInside(file, process.cwd()))
      throw usageFailure(`${file} is inside this project, where an agent could change it.`, 'Name a file outside.');
  if (url === undefined) return { target, token: undefined, where: shownAddress(store), warning: undefined };
  return {
    target,
    where: url,
    ...(await checkedToken(url, serverToken(options, url) ?? readText(dataFile(TOKEN))?.trim())),
  };
}

/** The address with a full path: the agents run hooks in other folders. */
function placed(address: string | undefined): string {
  if (address === undefined) return `sqlite:${dataFile('agents.sqlite')}`;
  const file = storeFile(address);
  return file === undefined ? address : `sqlite:${file}`;
}

async function checkedToken(url: string, token: string | undefined) {
  const hint = 'Create one that may only ask: countersign tokens create "$USER" --scopes start,read';
  if (token === undefined || token === '') throw usageFailure('The hooks need a token for the server.', hint);
  const { createClient } = await import('../../client/index.ts');
  const { unreachableFailure } = await import('../backend/unreachable.ts');
  const { scopes } = await createClient(url, { token })
    .me()
    .catch((error: unknown) => {
      throw unreachableFailure(url, error) ?? error;
    });
  const warning = `This token may also decide, and an agent could read it. ${hint}`;
  return { token, warning: scopes.includes('decide') ? warning : undefined };
}

/** The rules, unless there are some, and the token. */
export function filesFor({ rules }: HookTarget, token: string | undefined): readonly Change[] {
  const files: Change[] = [];
  if (readText(rules) === undefined) files.push({ file: rules, before: undefined, after: DEFAULT_RULES });
  const file = dataFile(TOKEN);
  if (token !== undefined) files.push({ file, before: readText(file), after: `${token}\n` });
  return files.filter(isChanged);
}

/** Once no agent asks any more, our rules go if nobody has changed them, and so does the token. */
export async function filesWithout(gone: readonly CodingAgent[], scope: Scope): Promise<readonly Change[]> {
  const stays = codingAgents().some(
    (agent) => !gone.some(({ name }) => name === agent.name) && removalOf(agent, scope) !== undefined,
  );
  if (gone.length === 0 || stays || scope === 'project') return [];
  const [rules, token] = [dataFile(RULES), dataFile(TOKEN)];
  return [
    { file: rules, before: readText(rules), after: undefined },
    { file: token, before: readText(token), after: undefined },
  ].filter(({ file, before }) => (file === rules ? before === DEFAULT_RULES : before !== undefined));
}

function removalOf(agent: CodingAgent, scope: Scope): Change | undefined {
  try {
    return removal(agent, scope);
  } catch {
    // What it has is unknown, so the files that it may use stay.
    return { file: homedir(), before: undefined, after: undefined };
  }
}
