// `countersign serve`: the API, the inbox and a worker, for production.
import { isPersonId } from '../../identity/person.ts';
import { ADDRESS_OPTIONS } from '../address-options.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, usageFailure } from '../failure.ts';
import { STORE_OPTIONS } from '../place-options.ts';
import { shownPath } from '../runtime/agents-file.ts';
import { STOPPING, stopSignal, whetherReadOrNot } from '../runtime/stopping.ts';

export const serve: Command = {
  name: 'serve',
  arguments: '[file]',
  summary: 'serve the API and the inbox, and drive the runs',
  description: [
    'Serves your agents: the HTTP API, the inbox, and a worker that drives runs. People are known by tokens (`countersign tokens create`) or by what your file exports as `server`: `identify`, `mayRead`, `mayDecide` and the like.',
    'Ctrl-C or SIGTERM stops it cleanly: nothing new is taken, what runs comes to its next rest and is handed over. After a crash, start it again: it goes on with what it finds in the store.',
    'With --json, the log is lines of JSON, every request included, without inputs of tools unless --log-inputs is given.',
  ],
  options: {
    ...ADDRESS_OPTIONS,
    login: { value: 'person', summary: 'print a link that signs this person in, once, within ten minutes' },
    'no-worker': { summary: 'drive no runs here but those that are started or decided here' },
    'log-inputs': { summary: 'log inputs and answers of tools, too' },
    ...STORE_OPTIONS,
  },
  examples: [
    ['countersign serve agents.ts --store postgres://localhost/app', 'on this machine only'],
    [
      'countersign serve --host 0.0.0.0 --public-url https://approvals.example.com --json',
      'behind a proxy, with a log for programs',
    ],
  ],
  run: whetherReadOrNot(async (invocation) => {
    const { output } = invocation;
    const { startServing } = await import('../runtime/serving.ts');
    const login = loginOf(invocation);
    const { opened, server, stop } = await startServing(invocation, invocation.positionals[0], {
      dev: false,
      worker: !invocation.has('no-worker'),
      logInputs: invocation.has('log-inputs'),
    });
    const stopping = stopSignal();
    const linkFor = async (id: string) => `${server.url}${await server.app.loginPath({ id })}`;
    let loginUrl: string | undefined;
    try {
      if (login !== undefined) loginUrl = await linkFor(login);
    } catch (error) {
      // Runs may be driven by now.
      await stop();
      throw error;
    }
    const agents = [...opened.ai.agents.keys()];
    const from = opened.file === undefined ? 'the demo' : shownPath(opened.file);
    if (output.json)
      output.document(
        {
          type: 'serving',
          url: server.url,
          port: server.port,
          agents,
          where: opened.where,
          ...(loginUrl && { loginUrl }),
        },
        { follow: true },
      );
    else {
      output.line(
        `Serving ${agents.join(', ') || 'no agents'} (${from}) at ${server.url}, runs in ${opened.where}. Ctrl-C stops it.`,
      );
      if (loginUrl !== undefined) output.line(`Sign in, once, within ten minutes: ${loginUrl}`);
    }
    await stopping;
    output.note(STOPPING);
    // The log has told of them.
    if ((await stop()).unrecorded.length > 0) return EXIT.failure;
    if (!output.json) output.line('Stopped.');
    return undefined;
  }),
};

function loginOf(invocation: Invocation): string | undefined {
  const login = invocation.text('login');
  if (login === undefined || isPersonId(login)) return login;
  throw usageFailure('--login takes the id of a person, a text of 1 to 200 characters.', 'As in: --login alice');
}
