// Joins a client on standard input and output with the MCP server that the gateway has started.
import { ClientSession, type Ends, type SessionOptions } from './client-session.ts';
import { isHandled, type RpcMessage } from './messages.ts';
import type { ReadMessage } from './read-message.ts';

/** The client's end, which reads strictly. */
export type ClientEnd = {
  onmessage?: (read: ReadMessage) => void;
  onclose?: () => void;
  start(): void;
  send(message: object): Promise<void>;
  close(): void;
};

/** A transport of the MCP SDK, as far as the relay uses it. */
export type ServerEnd = {
  onmessage?: ((message: any) => void) | undefined;
  onclose?: (() => void) | undefined;
  start(): Promise<void>;
  send(message: any): Promise<void>;
  close(): Promise<void>;
};

export type RelayOptions = Pick<SessionOptions, 'gate' | 'by'> & {
  readonly client: ClientEnd;
  readonly server: ServerEnd;
  readonly onError: (error: unknown) => void;
  /** Stops the relay as if the client had left. */
  readonly stop?: AbortSignal;
};

/** How long calls may run after their client left. */
const CLOSE_GRACE_MS = 10_000;

/** Resolves once both sides are closed, and what was sent is on record. */
export async function relay({ client, server, gate, by, onError, stop }: RelayOptions): Promise<void> {
  const session = new ClientSession({ gate, by, person: by, client: by, ownsIds: true });
  const lost = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const toServer = (message: RpcMessage) => void server.send(message).catch(onError);
  const ends: Ends = {
    post: (request) => server.send(request).then(() => lost.promise),
    pass: (request) => server.send(request),
    write: ({ ...message }) => client.send(message),
  };
  client.onmessage = (read) => {
    if ('refused' in read) return void client.send(read.refused).catch(onError);
    if (isHandled(read.message)) return void session.call(read.message, ends);
    const message = session.fromClient(read.message);
    if (message) toServer(message);
  };
  server.onmessage = (given: RpcMessage) => {
    const message = session.fromServer(given);
    if (message) client.send(message).catch(onError);
  };
  client.onclose = () => ended.resolve();
  stop?.addEventListener('abort', () => ended.resolve());
  server.onclose = () => {
    lost.reject(new Error('it ended'));
    ended.resolve();
  };
  lost.promise.catch(() => undefined);
  await server.start();
  client.start();
  await ended.promise;
  const left = session.leave().then(() => gate.close());
  await Promise.race([left, new Promise((resolve) => setTimeout(resolve, CLOSE_GRACE_MS).unref())]);
  await server.close();
  lost.reject(new Error('it ended'));
  await left;
  client.close();
}
