// The title of a call of a coding agent: one line that says what will happen, as in `Remove the build: rm -rf build`.

import { isRecord } from '../is-record.ts';
import { visibleLine } from '../text/visible-text.ts';

/** The fields that say what a call is about, the most telling one first. */
const SUBJECTS = [
  'command',
  'cmd',
  'file_path',
  'filePath',
  'notebook_path',
  'path',
  'url',
  'query',
  'pattern',
  'prompt',
] as const;
const PATCHED = /^\*\*\* (Add|Update|Delete) File: (.+)$/gm;
const MOST_CHARACTERS = 100;
/** What the agent says must not push out what would run. */
const MOST_SAID = 60;

/** What the agent says about the call, or else the tool; then what it is about. The card shows the whole input below. */
export function callTitle(tool: string, input: unknown): string {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  const subject = server === undefined ? subjectOf(input) : undefined;
  const text = server === undefined ? (saidIn(input) ?? tool) : `${server}: ${name}`;
  return shortened(visibleLine(subject === undefined ? text : `${text}: ${subject}`), MOST_CHARACTERS);
}

function saidIn(input: unknown): string | undefined {
  const said = isRecord(input) ? input.description : undefined;
  return typeof said === 'string' && said.trim() !== '' ? shortened(visibleLine(said.trim()), MOST_SAID) : undefined;
}

function shortened(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
}

function subjectOf(input: unknown): string | undefined {
  if (!isRecord(input)) return undefined;
  for (const field of SUBJECTS) {
    const value = input[field];
    const text = Array.isArray(value) ? value.join(' ') : value;
    if (typeof text !== 'string' || text.trim() === '') continue;
    const files = text.startsWith('*** Begin Patch') ? [...text.matchAll(PATCHED)] : [];
    return files.length === 0 ? text.trim() : files.map(([, verb, file]) => `${verb} ${file}`).join(', ');
  }
  return undefined;
}
