// The person's own editor: the value goes to a file that only they can read, and comes back changed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What `VISUAL` or `EDITOR` name; undefined if there is none. */
export function editorOf(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return [environment.VISUAL, environment.EDITOR].find((editor) => editor !== undefined && editor.trim() !== '');
}

/** The text after the editor was closed. Throws if the editor could not be started or failed. */
export function editText(editor: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  const file = join(folder, 'input.json');
  try {
    writeFileSync(file, text, { mode: 0o600 });
    // Editors are named with their arguments, as in `code --wait`; the shell takes them apart.
    const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    if (error) throw error;
    if (status !== 0)
      throw new Error(`The editor (${editor}) ended with ${status ?? 'a signal'}; nothing was changed.`);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
