// The open connections of a Node server, so that a stop can close each one as soon as it is idle.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Counts the requests in progress per connection: Node's own list of idle connections omits those that sent nothing yet. */
export class Connections {
  readonly #requests = new Map<Socket, number>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#requests.set(socket, 0);
      socket.once('close', () => this.#requests.delete(socket));
    });
    // Before the app sees the request: after `closeWhenIdle`, no response offers to keep its connection.
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      if (this.#isClosing) response.shouldKeepAlive = false;
      this.#count(socket, 1);
      response.once('close', () => this.#count(socket, -1));
    });
  }

  /** Closes idle connections now, and each other one when its last response has been sent. */
  closeWhenIdle(): void {
    this.#isClosing = true;
    for (const [socket, requests] of this.#requests) if (requests === 0) socket.destroySoon();
  }

  #count(socket: Socket, change: 1 | -1): void {
    const requests = this.#requests.get(socket);
    if (requests === undefined) return;
    this.#requests.set(socket, requests + change);
    if (this.#isClosing && requests + change === 0) socket.destroySoon();
  }
}
