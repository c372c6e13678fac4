// Clients that leave: whatever was open for them is let go.
import { createServer, type IncomingMessage, request as nodeRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ChatRoute, nodeHandler } from 'countersign/ui';
import { expect, onTestFinished, test } from 'vitest';

test('what a client of Node has not read when it leaves is let go', async () => {
  const cancelled = Promise.withResolvers<void>();
  const port = await serveRoute(async () => endless(() => cancelled.resolve()));
  const asked = nodeRequest({ port, host: '127.0.0.1' }).on('error', () => undefined);
  const answer = await new Promise<IncomingMessage>((resolve) => asked.on('response', resolve).end());
  answer.on('error', () => undefined);
  asked.destroy();
  await cancelled.promise;
});

test('so is what is answered when a client of Node has left already', async () => {
  const [begun, left, cancelled] = [deferred(), deferred(), deferred()];
  const port = await serveRoute(async ({ signal }) => {
    signal.addEventListener('abort', () => left.resolve());
    begun.resolve();
    await left.promise;
    return endless(() => cancelled.resolve());
  });
  const asked = nodeRequest({ port, host: '127.0.0.1' }).on('error', () => undefined);
  asked.end();
  await begun.promise;
  asked.destroy();
  await cancelled.promise;
});

const deferred = () => Promise.withResolvers<void>();

/** An answer without an end, as large as its client likes. */
function endless(cancelled: () => void): Response {
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: cancelled,
  });
  return new Response(body);
}

async function serveRoute(GET: ChatRoute['GET']): Promise<number> {
  const handle = nodeHandler({ GET, POST: GET });
  const server = createServer((req, res) => void handle(req, res));
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
