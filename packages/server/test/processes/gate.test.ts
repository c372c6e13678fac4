// The programs in examples/gate, against a server in another process: each acts once, and a killed one is in doubt.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
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

type Step = { readonly run: string; readonly if?: string };

test('the steps of the GitHub Actions job act once, and not again when the job is run again', {
  timeout: TIMEOUT,
}, async () => {
  const { folder, server, lines, run } = await openPlace();
  const { deploy } = parse(readFileSync(join(EXAMPLES, 'github-actions/deploy.yml'), 'utf8')).jobs;
  const contexts: Record<string, string> = {
    'vars.COUNTERSIGN_URL': server.url,
    'secrets.COUNTERSIGN_TOKEN': server.token,
    'github.repository': 'acme/shop',
    'github.run_id': '77',
    'github.sha': 'abc123',
  };
  const value = (text: string) => text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_all, name: string) => contexts[name] ?? '');
  const jobEnv = Object.fromEntries(Object.entries(deploy.env as object).map(([name, text]) => [name, value(text)]));

  /** As the runner does: each step in a shell of its own, with the variables that earlier steps wrote. */
  const runJob = async (attempt: number) => {
    const file = join(folder, `env-${attempt}`);
    const ran: Ended[] = [];
    for (const step of deploy.steps as readonly Step[]) {
      const written = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
      const stepEnv = { ...jobEnv, GITHUB_ENV: file, ...Object.fromEntries(written.map((line) => line.split('='))) };
      const [, name = '', wanted] = /^env\.(\w+) == '(\w+)'$/.exec(step.if ?? '') ?? [];
      if (step.if !== undefined && stepEnv[name] !== wanted) continue;
      ran.push(await run(['bash', '-e', '-c', step.run], stepEnv));
      if (ran.at(-1)?.code !== 0) break;
    }
    return ran;
  };

  const attempts = [runJob(1), runJob(2)];
  await decide(server, { type: 'approve' });
  const [first = [], second = []] = await Promise.all(attempts);
  expect([first, second].some((ran) => ran.length === 2 && ran.every(({ code }) => code === 0))).toBe(true);
  expect(lines()).toEqual(['abc123']);
  const again = await runJob(3);
  expect(again).toMatchObject([{ code: 0, output: expect.stringContaining('The call is done.') }]);
  expect(lines()).toEqual(['abc123']);
});
