// The questions, in a terminal.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inTerminal, KEYS } from '../../server/test/cli/pty.ts';

function createInTerminal() {
  const folder = mkdtempSync(join(tmpdir(), 'create-countersign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const main = resolve(import.meta.dirname, '../src/main.ts');
  const terminal = inTerminal([process.execPath, main, '--no-install'], { cwd: folder });
  return { ...terminal, folder };
}

test('asks for the folder and the template', async () => {
  const { folder, says, press, pick, ended } = createInTerminal();
  await says(/Where should the project go\?/);
  press(`chat${KEYS.enter}`);
  await says(/What do you want to build\?/);
  await pick('gate');
  await says(/Created chat from the template gate/);
  expect(await ended).toBe(0);
  expect(existsSync(join(folder, 'chat/route.ts'))).toBe(true);
});

test('Ctrl-C writes nothing', async () => {
  const { folder, says, press, ended } = createInTerminal();
  await says(/Where should the project go\?/);
  press(KEYS.interrupt);
  await says(/error: Cancelled\. Nothing was written\./);
  expect(await ended).toBe(130);
  expect(readdirSync(folder)).toEqual([]);
});
