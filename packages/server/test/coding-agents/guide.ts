// The settings of the guide, as written there, and the command that they name.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAIN } from '../cli/workplace.ts';

/** A program `countersign` that runs the sources. */
export const COMMAND = `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`;

const GUIDE = readFileSync(join(import.meta.dirname, '../../../../docs/guides/coding-agents.md'), 'utf8');

/** The first JSON block below a heading of the guide. */
export function jsonOf(heading: string): string {
  const [, section = ''] = GUIDE.split(`\n## ${heading}\n`);
  const [, block] = /```json\n([\s\S]*?)```/.exec(section) ?? [];
  if (block === undefined) throw new Error(`The guide has no JSON below ${heading}.`);
  return block;
}
