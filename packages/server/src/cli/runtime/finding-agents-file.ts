// Finds the user's agents file. Imports nothing of the engine: the process of `countersign dev` that watches files starts with it.
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';
import { shownPath } from './store-address.ts';

const namesOf = (name: string): readonly string[] => ['ts', 'mts', 'js', 'mjs'].map((end) => `${name}.${end}`);
export const CONFIG_NAMES = namesOf('countersign.config');
export const AGENTS_NAMES = namesOf('agents');
const NAMES = [...CONFIG_NAMES, ...AGENTS_NAMES];

export const isAgentsFileName = (name: string): boolean => NAMES.includes(name);

/** Returns the named file, or the first default name that exists. */
export function findAgentsFile(named: string | undefined): string | undefined {
  if (named !== undefined) {
    const path = resolve(named);
    if (existsSync(path)) {
      if (!statSync(path).isDirectory()) return path;
      throw usageFailure(`${shownPath(path)} is a folder. Name the file with your agents.`);
    }
    throw new CommandFailure(EXIT.notFound, 'no-agents-file', `File ${shownPath(path)} not found.`, {
      hint: `Default names: ${NAMES.filter((name) => name.endsWith('.ts')).join(', ')}`,
    });
  }
  return NAMES.map((name) => resolve(name)).find((path) => existsSync(path));
}
