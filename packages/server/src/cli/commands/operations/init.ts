// `countersign init`: writes a first agents file into an existing project.
import { constants, copyFileSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { CommandFailure, EXIT, usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { type Action, withExamples } from '../options.ts';

const DEFAULT_FILE = 'agents.ts';
const TEMPLATE = join(import.meta.dirname, '../../../../templates/agents.ts');

export function addInit(program: Command, action: Action): void {
  const command = program
    .command('init [file]')
    .summary('write a first agents file into this project')
    .description(
      `Writes a file (default: ${DEFAULT_FILE}) with an agent whose payments wait for a person. It never overwrites a file. To create a whole project, run: npm create countersign`,
    )
    .action(action(init));
  withExamples(
    command,
    ['countersign init', `${DEFAULT_FILE} in this folder, for countersign dev`],
    ['countersign init src/agents.ts', 'another file, for countersign dev src/agents.ts'],
  );
}

async function init(output: Output, named: string | undefined): Promise<undefined> {
  const { findAgentsFile } = await import('../../runtime/finding-agents-file.ts');
  const { shownPath } = await import('../../runtime/store-address.ts');
  const path = resolve(named ?? DEFAULT_FILE);
  const file = shownPath(path);
  if (!/\.m?ts$/.test(path))
    throw usageFailure(`${file} is not a TypeScript file.`, 'Example: countersign init agents.ts');
  const found = named === undefined ? findAgentsFile(undefined) : undefined;
  if (found !== undefined || existsSync(path)) throw alreadyExists(shownPath(found ?? path));
  try {
    copyFileSync(TEMPLATE, path, constants.COPYFILE_EXCL);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw alreadyExists(file);
    throw new CommandFailure(EXIT.failure, 'cannot-write', `Cannot write ${file}: ${message}`, { cause });
  }
  const missing = ['countersign', '@countersign/server'].filter((name) => !isInstalled(name, path));
  const steps = [
    ...(missing.length === 0 ? [] : [`npm install ${missing.join(' ')}`]),
    `npx countersign dev${named === undefined ? '' : ` ${file}`}`,
  ];
  if (output.json) output.document({ file, next: steps });
  else output.line(`Created ${file}. Next:\n${steps.map((step) => `  ${step}`).join('\n')}`);
  return undefined;
}

function alreadyExists(file: string): CommandFailure {
  return new CommandFailure(EXIT.failure, 'agents-file-exists', `${file} already exists. Nothing was written.`, {
    hint: 'Serve it with: countersign dev. Or name another file: countersign init other.ts',
  });
}

/** Some package managers let a project import only the packages that it lists. */
function isInstalled(name: string, from: string): boolean {
  try {
    createRequire(from).resolve(name);
    return true;
  } catch {
    return false;
  }
}
