// The title of a call of a coding agent: one line that says what will happen, as in `Bash: rm -rf build`.

import { isRecord } from '../is-record.ts';
import { visibleLine } from '../text/visible-text.ts';

/** The fields that say what a call is about, the most telling one first. */
const SUBJECTS = ['command', 'cmd', 'file_path', 'notebook_path', 'path', 'url', 'query', 'pattern', 'prompt'] as const;
const PATCHED = /^\*\*\* (Add|Update|Delete) File: (.+)$/gm;
const MOST_CHARACTERS = 100;

/** The card shows the whole input below the title, which has at most 100 characters. */
export function callTitle(tool: string, input: unknown): string {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  const subject = server === undefined ? subjectOf(input) : undefined;
  const text = server === undefined ? tool : `${server}: ${name}`;
  const characters = [...visibleLine(subject === undefined ? text : `${text}: ${subject}`)];
  if (characters.length <= MOST_CHARACTERS) return characters.join('');
  return `${characters.slice(0, MOST_CHARACTERS - 1).join('')}…`;
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
