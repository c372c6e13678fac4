// The step that asks: one request, long polls for some minutes, and the start. Needs nothing but Node.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The inputs of the step, as a runner passes them. */
export const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();

/** The server may restart meanwhile: a request is sent again for so long. Each can be repeated. */
const PATIENCE_MS = 120_000;

export async function request(path, body) {
  const until = Date.now() + PATIENCE_MS;
  for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, 10_000)) {
    const answer = await fetch(`${input('url').replace(/\/+$/, '')}/api/v1/gate${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${input('token')}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(90_000),
    }).catch((error) => ({ error }));
    const isAway = answer.error !== undefined || answer.status >= 500 || answer.status === 429;
    if (!isAway) return { status: answer.status, body: await answer.json().catch(() => ({})) };
    const why = answer.error ? (answer.error.cause?.message ?? answer.error.message) : `status ${answer.status}`;
    if (Date.now() > until) throw new Error(`The server at ${input('url')} does not answer: ${why}.`);
    await delay(pauseMs);
  }
}

const escaped = (text) => String(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
export const say = (kind, text) => console.log(`::${kind}::${escaped(text)}`);

function write(file, text) {
  const path = process.env[file];
  if (path) appendFileSync(path, text);
}

function output(name, value) {
  const end = `end-${randomUUID()}`;
  write('GITHUB_OUTPUT', `${name}<<${end}\n${value}\n${end}\n`);
}

/** Runs the step. What it throws fails the step. */
export async function run(step) {
  try {
    await step();
  } catch (error) {
    say('error', error.message);
    process.exitCode = 1;
  }
}

export function refused({ status, body }, what) {
  return new Error(`${what}: ${body.detail ?? body.title ?? `status ${status}`}`);
}

function asked() {
  const optional = ['title', 'risk', 'policy'].flatMap((name) => (input(name) === '' ? [] : [[name, input(name)]]));
  let proposed;
  try {
    proposed = JSON.parse(input('input'));
  } catch (error) {
    throw new Error(`\`input\` of the step is not JSON: ${error.message}`);
  }
  return { tool: input('tool'), key: input('key'), input: proposed, ...Object.fromEntries(optional) };
}

function minutes(name) {
  const value = Number(input(name));
  if (!(value >= 0 && value <= 1_440)) throw new Error(`\`${name}\` of the step must be from 0 to 1440.`);
  return value;
}

/** Waits until people have decided, or until the time is over. */
async function decided(first, until) {
  for (let call = first; ; ) {
    if (call.status !== 'pending' || Date.now() >= until) return call;
    const wait = Math.max(1, Math.min(50, Math.ceil((until - Date.now()) / 1_000)));
    const next = await request(`/${call.runId}?wait=${wait}`);
    if (next.status !== 200) throw refused(next, 'The call cannot be read');
    call = next.body;
  }
}

async function ask() {
  const until = Date.now() + 60_000 * minutes('wait-minutes');
  const lease = Math.max(1, Math.round(60 * minutes('lease-minutes')));
  const first = await request('', asked());
  if (first.status >= 300) throw refused(first, 'Nothing was asked');
  let call = await decided(first.body, until);
  if (call.status === 'approved') {
    // Of this job: no other job gets the start.
    const token = randomUUID();
    say('add-mask', token);
    const started = await request(`/${call.runId}/started`, { token, lease });
    if (started.status === 200) return told({ ...call, input: started.body.input }, token);
    if (started.status !== 409) throw refused(started, 'The start was not granted');
    call = started.body.gate ?? call;
  }
  told(call);
}

function told(call, token) {
  const { status, runId, url } = call;
  output('granted', token !== undefined);
  output('status', status);
  output('run', runId);
  output('page', url);
  if (call.input !== undefined) output('input', JSON.stringify(call.input));
  if (token !== undefined) {
    output('start', token);
    return say('notice', 'Approved. This job has the start.');
  }
  write('GITHUB_STEP_SUMMARY', `The call is ${status}: [open it](${url})\n`);
  if (status === 'done') return say('notice', 'It was done before. This job does nothing.');
  if (status === 'pending' || call.frozen)
    return say(
      'notice',
      `${call.frozen ? `Frozen: ${call.frozen.reason}` : 'Nobody has decided yet'}. Decide here: ${url}`,
    );
  throw new Error(`${WHY[status] ?? `The call is ${status}.`} ${call.reason ?? call.error ?? ''} ${url}`);
}

const WHY = {
  rejected: 'Rejected.',
  failed: 'It failed before. Ask again with another key.',
  started: 'Another job has the start.',
  doubt: 'It was started, and its outcome is unknown. A person is asked what happened.',
};

if (process.argv[1] === import.meta.filename) await run(ask);
