// Serves the user's agents until a signal: what `serve` and `dev` have in common.
import type { Stopped } from 'countersign';
import { type RunningServer, serve } from '../../serve.ts';
import { jsonLines, type LogSink } from '../../telemetry/log.ts';
import { type Address, addressOptions } from '../address-options.ts';
import type { Invocation } from '../command.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { visibleLine } from '../print/visible-text.ts';
import { type OpenedAgents, openAgents } from './opening.ts';

export type Serving = { readonly opened: OpenedAgents; readonly server: RunningServer; stop(): Promise<Stopped> };

export type ServingOptions = {
  /** The one person of this machine is signed in by a link, and sees everything. */
  readonly dev: boolean;
  readonly worker: boolean;
  readonly logInputs?: boolean;
  /** Instead of what the command line says. */
  readonly port?: number | undefined;
  /** How long open requests may take to end. */
  readonly graceMs?: number;
};

export async function startServing(
  invocation: Invocation,
  file: string | undefined,
  options: ServingOptions,
): Promise<Serving> {
  const address = addressOptions(invocation);
  const opened = await openAgents(invocation, file);
  const { ai, model } = opened;
  const port = options.port ?? address.port;
  try {
    const server = await serve(ai, {
      ...opened.server,
      ...address,
      port,
      dev: options.dev,
      ...(model && { model }),
      ...(options.worker ? {} : { worker: false as const }),
      ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
      ...(options.logInputs && { logInputs: true }),
      log: opened.server.log ?? logFor(invocation.output),
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
    throw cannotListen(error, address, port);
  }
}

/** As lines of JSON, everything; for people, what somebody should look at. */
function logFor({ json, note, style }: Output): LogSink {
  if (json) return jsonLines;
  return ({ level, event, error, message, method, route, status }) => {
    if (level === 'info') return;
    const answer = status === undefined ? '' : `${method} ${route} was answered with ${status}.`;
    const about = (error as { message?: unknown } | undefined)?.message ?? message ?? answer;
    note(`${style(level === 'error' ? 'red' : 'yellow', level)}: ${event} ${visibleLine(String(about))}`.trimEnd());
  };
}

function cannotListen(error: unknown, { hostname }: Address, port: number): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'somebody listens there already',
    EACCES: 'this user may not listen there',
    EADDRNOTAVAIL: 'this machine does not have that address',
    ENOTFOUND: 'there is no such address',
  };
  const reason = typeof code === 'string' ? reasons[code] : undefined;
  if (reason === undefined) return error;
  return new CommandFailure(EXIT.failure, 'cannot-listen', `Cannot listen on ${hostname}:${port}: ${reason}.`, {
    hint: 'Choose another port with --port, 0 for any that is free; or another address with --host',
  });
}
