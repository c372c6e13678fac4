// Serves the user's agents until a signal: shared by `serve` and `dev`.
import type { Stopped } from 'countersign/store';
import { jsonLines, type LogSink } from '../../log.ts';
import { type RunningServer, serve } from '../../serve.ts';
import { signInFromEnvironment } from '../../sign-in/from-environment.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { DEFAULT_URL } from '../commands/operations/link.ts';
import type { AddressOptions, StoreOptions } from '../commands/options.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { findAgentsFile } from './finding-agents-file.ts';
import { type OpenedAgents, openAgents } from './opening.ts';
import { shownPath } from './store-address.ts';

export type Serving = { readonly opened: OpenedAgents; readonly server: RunningServer; stop(): Promise<Stopped> };

export type ServingOptions = {
  /** Signs the one person on this machine in with a link, with access to everything. */
  readonly dev: boolean;
  readonly worker: boolean;
  readonly logInputs?: boolean;
  /** How long open requests may take to end. */
  readonly graceMs?: number;
  /** Prints a fresh sign-in link, with `dev`. */
  readonly onLoginUrl?: (url: string) => void;
};

export async function startServing(
  options: AddressOptions & StoreOptions,
  file: string | undefined,
  output: Output,
  { worker, ...serving }: ServingOptions,
): Promise<Serving> {
  const { port, host: hostname, publicUrl } = options;
  const opened = await openAgents(options, file, output, { standIn: serving.dev });
  const { ai, model } = opened;
  try {
    const signIn = [...(opened.server.signIn ?? []), ...signInFromEnvironment(process.env)];
    const server = await serve(ai, {
      ...opened.server,
      ...(signIn.length > 0 && { signIn }),
      port,
      hostname,
      ...(publicUrl !== undefined && { publicUrl }),
      ...(model && { model: { name: model.name, demo: model.demo } }),
      ...(worker ? {} : { worker: false as const }),
      ...serving,
      log: opened.server.log ?? logFor(output, serving.dev),
    });
    return {
      opened,
      server,
      stop: async () => {
        const stopped = await server.close();
        await opened.close();
        return stopped;
      },
    };
  } catch (error) {
    await opened.close();
    throw cannotListen(error, hostname, port);
  }
}

/** Says that the model is a stand-in, if it is. */
export function standInText({ model }: OpenedAgents): string | undefined {
  if (!model?.demo) return undefined;
  const [why, advice] =
    model.missing === undefined
      ? ['No API key is set', 'Set COUNTERSIGN_MODEL and a key to use a real model.']
      : [`${model.missing} is not installed`, `To use the model of your API key: npm install ${model.missing}`];
  return `${why}, so a stand-in replies: it picks tools by the words of your message. ${advice}`;
}

/** As in `assistant from agents.ts`. */
export function agentsText({ ai, file }: OpenedAgents): string {
  const agents = [...ai.agents.keys()].join(', ') || 'no agents';
  return `${agents} from ${file === undefined ? 'the demo' : shownPath(file)}`;
}

/** How people and programs sign in to a server: commands that reach its store. */
export function signInLines(
  { server, where, file }: OpenedAgents,
  options: AddressOptions & StoreOptions,
  url: string,
): readonly string[] {
  const agents = file === undefined || file === findAgentsFile(undefined) ? '' : ` --agents ${shownPath(file)}`;
  const store = options.store === undefined ? agents : ` --store ${where}`;
  const isKnown = url === DEFAULT_URL || (options.publicUrl === undefined && server.publicUrl !== undefined);
  return [
    'How to sign in:',
    ...(server.signIn || process.env.COUNTERSIGN_OIDC_ISSUER
      ? [`  the account of your organisation  ${url}/login`]
      : []),
    ...(server.identify ? ['  own login  `identify` in your file'] : []),
    `  a browser  countersign link <person>${store}${isKnown ? '' : ` --public-url ${url}`}`,
    `  a program  countersign tokens create <person>${store}`,
  ];
}

/** Logs everything as JSON lines, and only warnings and errors for people; a developer sees where each error came from. */
function logFor({ json, note, style }: Output, dev: boolean): LogSink {
  if (json) return jsonLines;
  return ({ level, event, error, message, method, route, status }) => {
    if (level === 'info') return;
    const response = status === undefined ? '' : `${method} ${route} responded with ${status}.`;
    const { message: reason, stack } = (error ?? {}) as { message?: unknown; stack?: unknown };
    const about = reason === undefined ? (message ?? response) : `${response} ${reason}`;
    note(
      `${style(level === 'error' ? 'red' : 'yellow', level)}: ${event} ${visibleLine(String(about).trim())}`.trimEnd(),
    );
    if (dev && level === 'error') for (const frame of framesOf(stack)) note(style('dim', visibleLine(frame)));
  };
}

/** The lines of a stack below the message. */
function framesOf(stack: unknown): readonly string[] {
  return String(stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
}

/** Explains why a socket could not be opened; other errors are returned unchanged. */
export function cannotListen(error: unknown, host: string, port: number): unknown {
  const { syscall, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return error;
  return new CommandFailure(EXIT.failure, 'cannot-listen', `Cannot listen on ${host}:${port}: ${message}.`, {
    hint: 'Choose another port with --port (0 picks a free one), or another address with --host',
  });
}
