// A pooler between clients and PostgreSQL that assigns each transaction another connection, as PgBouncer does in the pool
// modes `transaction` and `statement`. It does not support prepared statements.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Pooler = { readonly url: string; close(): void };

type Client = { readonly socket: Socket; server?: Server | undefined };
type Server = { readonly socket: Socket; client?: Client | undefined; underWay: number };

/** `url` is the address of a server that asks for no password. */
export async function startPooler(url: string, connections: number): Promise<Pooler> {
  const target = new URL(url);
  const servers = await Promise.all(Array.from({ length: connections }, () => logIn(target)));
  const clients = new Set<Client>();
  const waiting: { readonly client: Client; readonly message: Buffer }[] = [];
  let turn = 0;

  /** Returns the next free connection, never the same twice in a row while there are others. */
  const freeServer = (): Server | undefined => {
    for (let tried = 0; tried < servers.length; tried += 1) {
      const server = servers[turn++ % servers.length];
      if (server?.client === undefined) return server;
    }
    return undefined;
  };

  const forward = (client: Client, message: Buffer): void => {
    const server = client.server ?? (waiting.some((one) => one.client === client) ? undefined : freeServer());
    if (server === undefined) return void waiting.push({ client, message });
    Object.assign(server, { client });
    client.server = server;
    const type = String.fromCharCode(message[0] ?? 0);
    if (type === 'Q' || type === 'S') server.underWay += 1;
    server.socket.write(message);
  };

  for (const server of servers) {
    server.socket.on(
      'data',
      inMessages(false, (message) => {
        // Messages of the server outside a transaction, such as notifications, are lost.
        const { client } = server;
        client?.socket.write(message);
        if (message[0] !== READY) return;
        server.underWay -= 1;
        if (server.underWay > 0 || message[5] !== IDLE) return;
        server.client = undefined;
        if (client) client.server = undefined;
        for (const one of waiting.splice(0)) forward(one.client, one.message);
      }),
    );
  }

  const listener = createServer((socket) => {
    const client: Client = { socket };
    clients.add(client);
    socket.setNoDelay(true).on('error', () => undefined);
    socket.on('close', () => clients.delete(client));
    let isIn = false;
    socket.on(
      'data',
      inMessages(true, (message) => {
        if (isIn && message[0] !== TERMINATE) forward(client, message);
        if (!isIn) socket.write(WELCOME);
        isIn = true;
      }),
    );
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    close() {
      listener.close();
      for (const { socket } of [...clients, ...servers]) socket.destroy();
    },
  };
}

const READY = 'Z'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);
/** AuthenticationOk, and ReadyForQuery. */
const WELCOME = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');

async function logIn({ hostname, port, searchParams, username, pathname }: URL): Promise<Server> {
  const socket = connect(Number(port), hostname).setNoDelay(true);
  const options = searchParams.get('options') ?? '';
  const said = Buffer.from(`\0\x03\0\0user\0${username}\0database\0${pathname.slice(1)}\0options\0${options}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(said.length + 4);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const hear = inMessages(false, (message) => {
    if (message[0] === READY) resolve();
  });
  socket.on('data', hear).on('error', reject);
  socket.write(Buffer.concat([length, said]));
  await promise;
  socket.off('data', hear);
  return { socket, underWay: 0 };
}

/** Splits the incoming bytes into messages. A client's first message has no type. */
function inMessages(isClient: boolean, hear: (message: Buffer) => void): (bytes: Buffer) => void {
  let typed = !isClient;
  let left = Buffer.alloc(0);
  return (bytes) => {
    left = Buffer.concat([left, bytes]);
    for (;;) {
      const start = typed ? 1 : 0;
      if (left.length < start + 4 || left.length < start + left.readInt32BE(start)) return;
      const end = start + left.readInt32BE(start);
      const message = left.subarray(0, end);
      left = left.subarray(end);
      typed = true;
      hear(message);
    }
  };
}
