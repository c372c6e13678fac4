// A real receiver of webhooks on a free port.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Received = { readonly path: string; readonly headers: Record<string, string>; readonly body: string };

export type Receiver = {
  /** With the address 127.0.0.1. */
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
};

/** Answers what `answer` says; 204 by default. */
export async function startReceiver(
  answer: (response: ServerResponse, received: Received, request: IncomingMessage) => void = (response) =>
    response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const got = { path: request.url ?? '', headers: request.headers as Record<string, string>, body };
    received.push(got);
    answer(response, got, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, port, received };
}
