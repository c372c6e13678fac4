// The processes of a fleet: `countersign serve` and `countersign worker` of some build, as users start them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A checkout of the repository with its build. */
export type Build = { readonly name: string; readonly root: string };

export type Role = 'server' | 'worker';

export type MemberOptions = { readonly folder: string; readonly store: string; readonly ledger: string };

/** One place in the fleet: a process runs here, is killed or stopped, and another one follows on the same port. */
export class Member {
  readonly role: Role;
  readonly url: string;
  readonly #options: MemberOptions;
  #child: ChildProcess | undefined;
  #errors = '';
  /** False from before it is killed or stopped until it can be used again. */
  isUp = false;

  constructor(role: Role, port: number, options: MemberOptions) {
    this.role = role;
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Resolves once it serves or works. */
  async start(build: Build): Promise<void> {
    const { folder, store, ledger } = this.#options;
    const port = new URL(this.url).port;
    const command =
      this.role === 'server' ? ['serve', 'agents.ts', '--no-worker', '--port', port] : ['worker', 'agents.ts'];
    const child = spawn(
      process.execPath,
      [join(build.root, 'packages/server/dist/cli/main.js'), ...command, '--store', store, '--json'],
      {
        cwd: workplaceOf(folder, build),
        env: { PATH: process.env.PATH, HOME: folder, FLEET_LEDGER: ledger, FLEET_BUILD: build.name },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    this.#errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    const ready = this.role === 'server' ? '"type":"serving"' : '"type":"working"';
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => line.includes(ready) && resolve());
      child.once('exit', (code) => reject(new Error(`A ${this.role} ended with ${code}: ${this.#errors}`)));
    });
    this.isUp = true;
  }

  /** Returns when it was killed, and its process. */
  async kill(): Promise<{ readonly pid: number; readonly at: number }> {
    const pid = this.pid;
    this.isUp = false;
    const at = Date.now();
    await this.#end('SIGKILL');
    return { pid, at };
  }

  /** Stops it cleanly, as a deploy does. Returns a problem if it did not end well. */
  async stop(): Promise<string | undefined> {
    this.isUp = false;
    const code = await this.#end('SIGTERM');
    return code === 0 ? undefined : `a ${this.role} ended with ${code} after SIGTERM: ${this.#errors}`;
  }

  async #end(signal: NodeJS.Signals): Promise<number | null | undefined> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }
}

/** The agents file beside the packages of the build, as after `npm install`. */
function workplaceOf(folder: string, { name, root }: Build): string {
  const path = join(folder, name);
  if (mkdirSync(path, { recursive: true }) === undefined) return path;
  for (const file of ['agents.ts', 'ledger.ts']) copyFileSync(join(import.meta.dirname, file), join(path, file));
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
  return path;
}
