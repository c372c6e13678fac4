// The programs in examples/gate/python and examples/gate/shell, against a server in another process: each acts once, and a killed one is in doubt.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ServerProcess, serverProcess } from './children.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples/gate');
const TIMEOUT = 120_000;

function isHere(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

type Ended = { readonly code: number | null; readonly signal: string | null; readonly output: string };

/** A folder in which the programs write, and the server that they ask. */
async function openPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-gate-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = await serverProcess(`sqlite:${join(folder, 'runs.sqlite')}`);
  const deployed = join(folder, 'deployed');
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: server.token, DEPLOYED: deployed };
  const lines = () => (existsSync(deployed) ? readFileSync(deployed, 'utf8').trim().split('\n') : []);
  const run = (command: readonly string[], more: Record<string, string> = {}): Promise<Ended> =>
    ended(spawn(command[0] ?? '', command.slice(1), { cwd: folder, env: { ...process.env, ...env, ...more } }));
  return { folder, server, lines, run };
}

async function ended(child: ChildProcess): Promise<Ended> {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, output };
}

async function decide({ client }: ServerProcess, decision: Parameters<typeof client.requests.decide>[1]['decision']) {
  const pending = async () => (await client.requests.list({ tool: 'deploy', kind: 'approval' })).items[0]?.id;
  await expect.poll(pending, { timeout: 30_000 }).toBeTruthy();
  await client.requests.decide((await pending()) ?? '', { decision });
}

for (const [program, command] of [
  ['python3', ['python3', join(EXAMPLES, 'python/deploy.py')]],
  ['curl', ['bash', join(EXAMPLES, 'shell/deploy.sh')]],
] as const) {
  const name = command[0];
  if (!isHere(program)) {
    console.warn(`The example in ${name} is not tested: ${program} is not on this machine.`);
    continue;
  }

  test(`${name}: acts once, with the edited input, and never if rejected`, { timeout: TIMEOUT }, async () => {
    const { server, lines, run } = await openPlace();
    const both = [1, 2].map(() => run([...command, 'build-7']));
    await decide(server, { type: 'approve', edit: { build: 'build-7', to: 'staging' } });
    const codes = (await Promise.all(both)).map(({ code }) => code);
    expect(codes).toContain(0);
    expect(lines()).toEqual([expect.stringMatching(/build-7.*staging/)]);
    const again = await run([...command, 'build-7']);
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining('was deployed before') });
    const rejected = run([...command, 'build-8']);
    await decide(server, { type: 'reject', reason: 'No.' });
    expect(await rejected).toMatchObject({ code: 1, output: expect.stringContaining('rejected') });
    expect(lines()).toHaveLength(1);
  });

  test(`${name}: killed after its effect, it is in doubt and does not act again`, { timeout: TIMEOUT }, async () => {
    const { server, lines, run } = await openPlace();
    const killed = run([...command, 'build-9'], { CRASH: '1', LEASE: '1' });
    await decide(server, { type: 'approve' });
    expect(await killed).toMatchObject({ signal: 'SIGKILL' });
    expect(lines()).toHaveLength(1);
    const doubts = async () => (await server.client.requests.list({ kind: 'doubt' })).items;
    await expect.poll(doubts, { timeout: 30_000 }).toHaveLength(1);
    const again = await run([...command, 'build-9'], { LEASE: '1' });
    expect(again).toMatchObject({ code: 1, output: expect.stringContaining('doubt') });
    expect(lines()).toHaveLength(1);
  });
}
