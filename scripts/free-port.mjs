// A free port below the ephemeral ones, which a client could get before the server that is meant to have it listens.
import { createServer } from 'node:net';

const given = new Set();

export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(12_000 * Math.random());
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
