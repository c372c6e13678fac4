// The open connections of a Node server, so that a stop can close each one when it is idle.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Tracks responses in progress per connection: Node's own list of idle connections omits those that sent nothing yet. */
export class Connections {
  readonly #responses = new Map<Socket, Set<ServerResponse>>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#responses.set(socket, new Set());
      socket.once('close', () => this.#responses.delete(socket));
    });
    // Prepended, because the app may answer at once.
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const open = this.#responses.get(socket);
      open?.add(response);
      if (this.#isClosing) refuseKeepAlive(response);
      response.once('close', () => {
        open?.delete(response);
        if (this.#isClosing && open?.size === 0) socket.destroySoon();
      });
    });
  }

  /** Closes idle connections now, and each other one when its last response has been sent. */
  closeWhenIdle(): void {
    this.#isClosing = true;
    for (const [socket, open] of this.#responses) {
      for (const response of open) refuseKeepAlive(response);
      if (open.size === 0) socket.destroySoon();
    }
  }
}

/** Sends `Connection: close`, so that the client does not send its next request here. */
function refuseKeepAlive(response: ServerResponse): void {
  if (!response.headersSent) response.shouldKeepAlive = false;
}
