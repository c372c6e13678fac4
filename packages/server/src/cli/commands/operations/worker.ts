// `countersign worker`: drives the runs of a store, without a server.
import type { Command } from 'commander';
import type { Countersign } from 'countersign';
import { recordDeployed } from '../../../deployed.ts';
import type { AppOptions } from '../../../options.ts';
import { visibleLine } from '../../../text/visible-text.ts';
import { unrecordedText } from '../../../unrecorded.ts';
import { EXIT, type ExitCode, failureOf } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { STOPPING, stopSignal, survivingLostOutput } from '../../runtime/stopping.ts';
import { type Action, type StoreOptions, wholeNumber, withExamples, withStore } from '../options.ts';

type WorkerOptions = StoreOptions & {
  readonly concurrency: number;
  readonly healthPort?: number;
  readonly host: string;
};

export function addWorker(program: Command, action: Action): void {
  const command = program
    .command('worker [file]')
    .summary('drive runs: resume decided and crashed ones')
    .description(
      [
        'Resumes crashed and decided runs and enforces deadlines until it is stopped. Several workers can share a store.',
        'Ctrl-C or SIGTERM stops it cleanly: running tools finish, and other workers take over.',
      ].join('\n\n'),
    )
    .option('--concurrency <number>', 'runs to drive at once, 1 to 1000', wholeNumber(1, 1_000), 8)
    .option('--health-port <number>', 'serve /healthz and /readyz on this port, for probes', wholeNumber(0, 65_535))
    .option('--host <address>', 'address of the health port', '127.0.0.1')
    .action(action(survivingLostOutput(work)));
  withExamples(
    withStore(command),
    ['countersign worker agents.ts', 'use your agents'],
    ['countersign worker --store postgres://localhost/app --concurrency 32', 'one of several on a shared store'],
    ['countersign worker --health-port 8080 --host 0.0.0.0', 'in a container, with probes'],
  );
}

async function work(output: Output, file: string | undefined, options: WorkerOptions): Promise<ExitCode | undefined> {
  const { openAgents } = await import('../../runtime/opening.ts');
  const { ai, where, server, close } = await openAgents(options, file, output);
  const health = await healthOf(ai, server, options).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const stop = stopSignal();
  const agents = [...ai.agents.keys()];
  // A store that is down fails every second; the same message is printed once.
  let lastMessage = '';
  const report = (message: string) => {
    if (message === lastMessage) return;
    lastMessage = message;
    if (output.json) output.document({ type: 'error', at: Date.now(), message }, { follow: true });
    else output.note(`${output.style('red', 'error')}: ${visibleLine(message)}`);
  };
  void recordDeployed(ai);
  const working = ai.runs.work({
    concurrency: options.concurrency,
    onError: (error) => report(failureOf(error).message),
  });
  if (output.json)
    output.document({ type: 'working', at: Date.now(), where, agents, healthPort: health?.port }, { follow: true });
  else output.line(`Working on ${where} with ${agents.join(', ') || 'no agents'}. Press Ctrl-C to stop.`);
  const signal = await stop;
  output.note(STOPPING);
  health?.retire();
  const { unrecorded } = await working.stop();
  await health?.close();
  await close();
  for (const call of unrecorded) report(unrecordedText(call));
  if (output.json) output.document({ type: 'stopped', at: Date.now(), signal }, { follow: true });
  else if (unrecorded.length === 0) output.line('Stopped.');
  return unrecorded.length > 0 ? EXIT.failure : undefined;
}

/** Metrics are served where the agents file opens them to everyone: a worker knows no users. */
async function healthOf(ai: Countersign, { metrics }: AppOptions, { healthPort: port, host }: WorkerOptions) {
  if (port === undefined) return undefined;
  const { serveHealth } = await import('../../../telemetry/health-server.ts');
  const { cannotListen } = await import('../../runtime/serving.ts');
  return serveHealth(ai, { port, hostname: host, metrics: metrics === 'open' ? 'open' : 'off' }).catch(
    (error: unknown) => {
      throw cannotListen(error, host, port);
    },
  );
}
