// Servers in child processes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createClient } from '@countersign/server/client';
import { onTestFinished } from 'vitest';

/** A server process, with metrics open to everyone. */
export type ServerProcess = {
  readonly url: string;
  readonly token: string;
  readonly client: ReturnType<typeof createClient>;
  readonly child: ChildProcess;
};

/** Starts a server on the store at this place, with a client that sees all runs. */
export async function serverProcess(place: string): Promise<ServerProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'serve-child.ts'), place], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url, token } = JSON.parse(line.toString()) as { url: string; token: string };
  return { url, token, client: createClient(url, { token }), child };
}
