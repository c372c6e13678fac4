// A connection that can be cut: a proxy that stops forwarding without closing anything, as a broken network does.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Cut = { readonly port: number; cut(): void; mend(old: 'broken' | 'silent'): void; close(): Promise<void> };

/** Connections that were open when it was cut are closed when it is mended, or stay silent for good. */
export async function proxyTo(port: number): Promise<Cut> {
  const sockets = new Set<Socket>();
  const dead = new Set<Socket>();
  let isCut = false;
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    if (isCut) dead.add(from);
    from.on('data', (bytes) => {
      if (!dead.has(from)) to.write(bytes);
    });
    from.on('close', () => {
      sockets.delete(from);
      if (!dead.has(from)) to.destroy();
    });
    from.on('error', () => undefined);
  };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    join(near, far);
    join(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
      for (const socket of sockets) dead.add(socket);
    },
    mend: (old) => {
      isCut = false;
      if (old === 'broken') for (const socket of dead) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
