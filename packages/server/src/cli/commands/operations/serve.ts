// `countersign serve`: the API, the inbox and a worker, for production.
import type { Command } from 'commander';
import { visibleLine } from '../../../text/visible-text.ts';
import { EXIT, type ExitCode, usageFailure } from '../../failure.ts';
import type { Output } from '../../print/output.ts';
import { STOPPING, stopSignal, survivingLostOutput } from '../../runtime/stopping.ts';
import {
  type Action,
  type AddressOptions,
  type StoreOptions,
  withAddress,
  withExamples,
  withStore,
} from '../options.ts';

type ServeOptions = AddressOptions &
  StoreOptions & { readonly login?: string; readonly worker: boolean; readonly logInputs?: boolean };

export function addServe(program: Command, action: Action): void {
  const command = withAddress(program.command('serve [file]'))
    .summary('serve the API and the inbox, and drive runs')
    .description(
      [
        'Serves your agents: the HTTP API, the inbox, and a worker that drives runs.',
        'People sign in with a one-time link (`countersign link`), or with your own login: your file exports `server` with `identify`, such as jwtIdentity for OIDC or headerIdentity behind a proxy. Programs send an API token (`countersign tokens create`).',
        'Ctrl-C or SIGTERM stops it cleanly: it takes no new work, running tools finish, and other workers take over. After a crash, start it again: it resumes the runs it finds in the store.',
        'With --json it logs every request as a line of JSON. Tool inputs are logged only with --log-inputs.',
      ].join('\n\n'),
    )
    .option('--login <person>', 'print a one-time sign-in link for this person, valid for 10 minutes')
    .option('--no-worker', 'drive only runs that are started or decided here')
    .option('--log-inputs', 'log tool inputs and answers')
    .action(action(survivingLostOutput(serveAgents)));
  withExamples(
    withStore(command),
    ['countersign serve agents.ts --store postgres://localhost/app', 'reachable from this machine only'],
    [
      'countersign serve --host 0.0.0.0 --public-url https://approvals.example.com --json',
      'behind a proxy, with a JSON log',
    ],
  );
}

async function serveAgents(
  output: Output,
  file: string | undefined,
  options: ServeOptions,
): Promise<ExitCode | undefined> {
  const { login, worker, logInputs } = options;
  const { isPersonId } = await import('../../../identity/person.ts');
  if (login !== undefined && !isPersonId(login))
    throw usageFailure('--login needs a person id of 1 to 200 characters.', 'Example: --login alice');
  const { agentsText, signInLines, standInText, startServing } = await import('../../runtime/serving.ts');
  const { opened, server, stop } = await startServing(options, file, output, {
    dev: false,
    worker,
    ...(logInputs && { logInputs }),
  });
  const stopping = stopSignal();
  let loginUrl: string | undefined;
  try {
    if (login !== undefined) loginUrl = `${server.url}${await server.app.loginPath({ id: login })}`;
  } catch (error) {
    // Runs may already be driven here.
    await stop();
    throw error;
  }
  const standIn = standInText(opened);
  if (standIn !== undefined) output.note(standIn);
  if (output.json) {
    const { url, port } = server;
    const agents = [...opened.ai.agents.keys()];
    output.document({ type: 'serving', url, port, agents, where: opened.where, loginUrl }, { follow: true });
  } else {
    output.line(`Serving ${agentsText(opened)} at ${server.url}. Press Ctrl-C to stop.`);
    output.line(output.style('dim', `Runs are in ${opened.where}`));
    output.line();
    for (const line of signInLines(opened, options, server.url)) output.line(line);
    if (loginUrl !== undefined) {
      output.line();
      output.line(`Link that signs in ${visibleLine(login ?? '')}, once and within 10 minutes:`);
      output.line(`  ${output.style(['cyan', 'underline'], loginUrl)}`);
    }
  }
  await stopping;
  output.note(STOPPING);
  // The log has named the calls without a recorded result.
  if ((await stop()).unrecorded.length > 0) return EXIT.failure;
  if (!output.json) output.line('Stopped.');
  return undefined;
}
