// The hooks of Codex, as Codex itself lists them: it knows which ones a person has reviewed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { isRecord } from '../is-record.ts';
import { hooksIn } from './claude-settings.ts';
import type { ConfiguredHooks } from './configured-hook.ts';

const TIMEOUT_MS = 20_000;

export async function codexHooks(folder = process.cwd(), { env } = process): Promise<ConfiguredHooks> {
  const listed = await listHooks(folder);
  if (listed) return readList(listed);
  const places = [env.CODEX_HOME || join(homedir(), '.codex'), resolve(folder, '.codex')];
  const hooks = places.flatMap((place) => hooksInFile(join(place, 'hooks.json')));
  return { hooks, mistakes: [], unknown: 'Codex was not found here, so it is unknown whether it trusts its hooks' };
}

/** What `hooks/list` of the app server returns; undefined if there is no Codex that knows it. */
async function listHooks(folder: string): Promise<unknown> {
  const child = spawn('codex', ['app-server'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
  const timer = setTimeout(() => child.kill(), TIMEOUT_MS);
  const lines = answersOf(child);
  const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  child.stdin?.on('error', () => undefined);
  try {
    const clientInfo = { name: 'countersign', title: 'Countersign', version: '1' };
    send({ id: 1, method: 'initialize', params: { clientInfo } });
    if (!(await lines(1))) return undefined;
    send({ method: 'initialized' });
    send({ id: 2, method: 'hooks/list', params: { cwds: [folder] } });
    return (await lines(2))?.result;
  } finally {
    clearTimeout(timer);
    child.kill();
  }
}

/** Waits for the answer with an id; undefined once the process has ended. */
function answersOf(child: ChildProcess) {
  const answers = new Map<unknown, { readonly result?: unknown }>();
  const ended = once(child, 'close').catch(() => undefined);
  let isEnded = false;
  let wake = () => {};
  void ended.then(() => {
    isEnded = true;
    wake();
  });
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message: unknown = line.startsWith('{') ? JSON.parse(line) : undefined;
      if (isRecord(message) && message.id !== undefined) answers.set(message.id, message);
      wake();
    });
  return async (id: number) => {
    while (!answers.has(id) && !isEnded)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return answers.get(id);
  };
}

type Listed = {
  readonly eventName: string;
  readonly command: string;
  readonly matcher: string | null;
  readonly timeoutSec: number;
  readonly sourcePath: string;
  readonly enabled: boolean;
  readonly isManaged: boolean;
  readonly trustStatus: string;
};

type Listing = { readonly hooks: readonly Listed[]; readonly errors?: Said; readonly warnings?: Said };
type Said = readonly unknown[];

function readList(result: unknown): ConfiguredHooks {
  const { data = [] } = result as { readonly data?: readonly Listing[] };
  const texts = data.flatMap(({ errors = [], warnings = [] }) => [...errors, ...warnings]).map(textOf);
  const mistakes = texts.map((text) => ({ file: 'Codex', text: `says: ${text}`, fix: 'Correct the file.' }));
  const hooks = data.flatMap(({ hooks }) => hooks).filter(({ command }) => typeof command === 'string');
  return {
    hooks: hooks.map(({ eventName, command, matcher, timeoutSec, sourcePath, enabled, isManaged, trustStatus }) => ({
      file: sourcePath,
      event: `${eventName.charAt(0).toUpperCase()}${eventName.slice(1)}`,
      matcher: matcher ?? undefined,
      command,
      timeoutSeconds: timeoutSec,
      blocksOnFailure: undefined,
      ...(!enabled && { skipped: 'it is turned off', fix: 'Start codex, enter /hooks, and turn it on.' }),
      ...(enabled &&
        !isManaged &&
        trustStatus !== 'trusted' && {
          skipped: `a person has not reviewed it (${trustStatus}), and Codex skips it silently`,
          fix: 'Start codex, enter /hooks, and trust it. Do so again after each change of the command.',
        }),
    })),
    mistakes,
  };
}

const textOf = (said: unknown): string => (typeof said === 'string' ? said : JSON.stringify(said));

function hooksInFile(file: string): ConfiguredHooks['hooks'] {
  try {
    const { hooks } = JSON.parse(readFileSync(file, 'utf8')) as { hooks?: unknown };
    return hooksIn(hooks).map((hook) => ({ ...hook, file, blocksOnFailure: undefined }));
  } catch {
    // Without Codex there is nothing that would read it.
    return [];
  }
}
