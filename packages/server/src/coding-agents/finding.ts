// Finds the coding agents on this machine: their programs on PATH, their versions, and the folders of their settings.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { CodingAgent } from './coding-agents.ts';

export type FoundAgent = {
  readonly agent: CodingAgent;
  readonly isFound: boolean;
  readonly program: string | undefined;
  readonly version: string | undefined;
};

const VERSION_MS = 15_000;

export function findAgents(agents: readonly CodingAgent[]): Promise<readonly FoundAgent[]> {
  return Promise.all(
    agents.map(async (agent) => {
      const program = agent.programs.map((name) => onPath(name)).find((path) => path !== undefined);
      const version = program === undefined ? undefined : await versionOf(program);
      return { agent, program, version, isFound: program !== undefined || existsSync(agent.folder) };
    }),
  );
}

/** The path of a program; `isWanted` leaves out folders. */
export function onPath(name: string, isWanted: (path: string) => boolean = () => true): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  return places.map((folder) => join(folder, name)).find((path) => isProgram(path) && isWanted(path));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const versionOf = (program: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: VERSION_MS, killSignal: 'SIGKILL' }, (_error, stdout) =>
      resolve(/\d+\.\d+\.\d+[\w.+-]*/.exec(stdout)?.[0].replace(/\.$/, '')),
    ).stdin?.end();
  });
