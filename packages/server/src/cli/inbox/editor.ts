// The person's own editor: writes the value to a private file and reads it back.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns `VISUAL` or `EDITOR`; undefined if neither is set, or it is `none`. */
export function editorCommand(): string | undefined {
  const { VISUAL, EDITOR } = process.env;
  const editor = [VISUAL, EDITOR].find((command) => command !== undefined && command.trim() !== '');
  return editor === 'none' ? undefined : editor;
}

/** Returns the text after the editor closes. Throws if the editor cannot start or fails. */
export function editText(editor: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  const file = join(folder, 'input.json');
  try {
    writeFileSync(file, text, { mode: 0o600 });
    // The command may have arguments, as in `code --wait`, so a shell splits it.
    const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    if (error) throw error;
    if (status !== 0)
      throw new Error(`The editor (${editor}) exited with ${status ?? 'a signal'}. Nothing was changed.`);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
