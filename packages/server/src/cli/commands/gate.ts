// `countersign gate <tool> -- command`: asks, and runs the command once it is approved, at most once per key.
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { defined } from '../../defined.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend, GateCall } from '../backend/backend.ts';
import { CommandFailure, EXIT, failureOf } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { useBackend } from '../runtime/lazy-opening.ts';
import { runProgram } from '../runtime/program.ts';
import { type Action, type BackendOptions, wholeNumber, withBackend, withExamples } from './options.ts';
import { parseJson, readValue } from './value.ts';

type GateOptions = BackendOptions & {
  readonly input: string;
  readonly key: string;
  readonly revises?: string;
  readonly title?: string;
  readonly description?: string;
  readonly risk?: 'low' | 'medium' | 'high';
  readonly label?: readonly string[];
  readonly policy?: string;
  readonly lease: number;
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly output: boolean;
};

export function addGate(program: Command, action: Action): void {
  const command = program
    .command('gate <tool> <command...>')
    .summary('run a command after a person has approved it, once')
    .description(
      [
        'Asks people about a call of <tool> with this input, and runs the command after -- once it is approved. The same key asks once and runs once, on any machine: a command that is done is not run again, and its recorded output is printed.',
        'The command gets the approved input in COUNTERSIGN_INPUT: a person may have edited it. If it is killed before its result is recorded, a person is asked what happened once the lease has ended.',
        'Without --wait, it exits with 1 while the request is pending; repeat it after the decision. It also exits with 1 if the call was rejected, or the command failed.',
      ].join('\n\n'),
    )
    .requiredOption('--input <json>', 'what would be done: JSON, @file, or - for standard input')
    .requiredOption('--key <key>', 'identifies the call, such as the number of a build')
    .option('--revises <run>', 'the run of the call that this one revises, because a person asked for changes')
    .option('--title <text>', 'what would happen, in one line')
    .option('--description <text>', 'more about it')
    .option('--risk <level>', 'low, medium or high')
    .option('--label <name>', 'a label, for rules; repeat it for several', collect)
    .option('--policy <name>', 'the policy that says who must decide')
    .option('--lease <seconds>', 'how long the command may take', wholeNumber(1, 86_400), 3_600)
    .option('--wait', 'wait for the decision')
    .option('--timeout <seconds>', 'with --wait: give up after this time', wholeNumber(1, 2_000_000))
    .option('--no-output', 'do not record the last output of the command')
    .option('--by <person>', 'who asks (default: $USER); a server uses the token instead')
    .action(action(gate));
  withExamples(
    withBackend(command),
    [
      `countersign gate deploy --input '{"build": 7}' --key build-7 --wait -- ./deploy.sh 7`,
      'deploy once a person has approved it',
    ],
    [
      `countersign gate clean --input @plan.json --key 2026-11 -- sh -c './clean "$COUNTERSIGN_INPUT"'`,
      'pass the approved input on',
    ],
  );
}

const collect = (label: string, earlier: readonly string[] = []): readonly string[] => [...earlier, label];

async function gate(
  output: Output,
  tool: string,
  command: readonly string[],
  options: GateOptions,
): Promise<undefined> {
  const { key, revises, title, description, risk, policy, label: labels, lease } = options;
  const input = parseJson('--input', await readValue('--input', options.input));
  const asked = {
    tool,
    input,
    key,
    ...defined({ revises, title, description, risk, policy, labels: labels && [...labels] }),
  };
  return useBackend(options, { agents: true }, async (backend) => {
    const first = await backend.gate.ask(asked);
    const call = await decided(backend, first, options, output);
    if (call.status === 'done') return printDone(output, call);
    if (call.status !== 'approved') throw notRun(tool, call);
    const { runId } = call;
    const token = randomUUID();
    const started = await persistently(() => backend.gate.start(runId, { lease, token }));
    if ('status' in started) {
      if (started.status === 'done') return printDone(output, started);
      throw notRun(tool, started);
    }
    const env = { COUNTERSIGN_INPUT: JSON.stringify(started.input), COUNTERSIGN_KEY: key };
    const ended = await runProgram(command, env, output.json ? process.stderr : process.stdout);
    const { error, notPerformed, stdout } = ended;
    const result = options.output ? { exitCode: 0, stdout } : { exitCode: 0 };
    const report = error === undefined ? { output: result } : { error, ...defined({ notPerformed }) };
    const reported = await persistently(() => backend.gate.finish(runId, { token, ...report }));
    if (reported.status !== 'done') throw notRun(tool, reported);
    if (output.json) output.document(reported);
    else output.note(`${tool} is done, and its result is recorded.`);
  });
}

/** How long one request waits, in seconds. */
const POLL_S = 30;

async function decided(
  { gate }: Backend,
  first: GateCall,
  { wait = false, timeout = Number.POSITIVE_INFINITY }: GateOptions,
  output: Output,
): Promise<GateCall> {
  const until = performance.now() + timeout * 1_000;
  let call = first;
  if (call.status === 'pending')
    output.note(`Waiting for a decision on ${call.id}${call.url === undefined ? '' : `: ${call.url}`}`);
  while (wait && (call.status === 'pending' || call.status === 'started')) {
    const left = Math.ceil((until - performance.now()) / 1_000);
    if (left <= 0) break;
    const { runId } = call;
    call = await persistently(() => gate.get(runId, { wait: Math.min(POLL_S, left) }));
  }
  return call;
}

const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000];
const PASSING = new Set(['unreachable', 'server-stopping', 'store-failed', 'too-many-streams']);

/** Every request of the gate may be repeated. */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await work();
    } catch (error) {
      if (!PASSING.has(failureOf(error).code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return work();
}

/** The command ran before, here or elsewhere. */
function printDone(output: Output, call: GateCall & { readonly status: 'done' }): void {
  if (output.json) return output.document(call);
  output.note('It was done before, and is not run again. Its recorded output:');
  const { stdout } = (call.output ?? {}) as { readonly stdout?: unknown };
  process.stdout.write(typeof stdout === 'string' ? stdout : `${JSON.stringify(call.output)}\n`);
}

function notRun(tool: string, call: GateCall): CommandFailure {
  const hint = hintFor(call);
  return new CommandFailure(EXIT.failure, call.status, textOf(visibleLine(tool), call), {
    ...defined({ hint }),
    details: { ...call },
  });
}

function hintFor(call: GateCall): string | undefined {
  if (call.status === 'pending') return 'Repeat the same command after the decision, or add --wait';
  if (call.status !== 'rejected' || !call.revise) return undefined;
  return `Ask for the changed call with another --key, and with --revises ${call.runId}`;
}

function textOf(name: string, call: GateCall): string {
  switch (call.status) {
    case 'pending':
      return `${name} waits for a decision (${call.id}). It was not run.`;
    case 'approved':
      return `${name} is approved and was not run.`;
    case 'started':
      return `${name} was started by another program, which has not reported its result yet.`;
    case 'done':
      return `${name} is done.`;
    case 'failed':
      return call.error;
    case 'rejected':
      return `${name} was not run: ${call.reason}`;
    case 'doubt':
      return `${name} was started, and its outcome is unknown. A person is asked (${call.id}). It is not run again.`;
  }
}
