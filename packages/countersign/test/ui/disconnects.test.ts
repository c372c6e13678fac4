// Clients that disconnect: their streams and watches are released.
import { createServer, type IncomingMessage, request as nodeRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memoryStore } from 'countersign';
import { type ChatRoute, nodeHandler } from 'countersign/ui';
import { expect, onTestFinished, test } from 'vitest';
import { changedStore } from '../changed-store.ts';
import { post, serveChat } from './server.ts';

test('a watch ends when its client leaves, even after the request was garbage collected', async () => {
  let watching = 0;
  const store = memoryStore();
  const counted = changedStore(store, {
    watch: (listener) => {
      const stop = store.watch(listener);
      watching += 1;
      return () => {
        watching -= 1;
        stop();
      };
    },
  });
  const { url, chat } = await serveChat({ script: ['Hello.'], store: counted });
  await post(url, { id: 'chat-1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
  const atRest = watching;
  const left = new AbortController();
  const watch = () =>
    chat.GET(new Request(`${url}/chat-1/watch`, { headers: { 'x-user': 'ada' }, signal: left.signal }));
  const reader = (await watch()).body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"status":"done"');
  expect(watching).toBe(atRest + 1);
  await collect();
  left.abort();
  expect(await reader?.read()).toMatchObject({ done: true });
  expect(watching).toBe(atRest);
});

test('the unread response of a Node client is cancelled when it disconnects', async () => {
  const cancelled = Promise.withResolvers<void>();
  const port = await serveRoute(async () => endless(() => cancelled.resolve()));
  const asked = nodeRequest({ port, host: '127.0.0.1' }).on('error', () => undefined);
  const answer = await new Promise<IncomingMessage>((resolve) => asked.on('response', resolve).end());
  answer.on('error', () => undefined);
  asked.destroy();
  await cancelled.promise;
});

test('a response that starts after a Node client disconnected is cancelled', async () => {
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

test('a response that fails midway is cut for its Node client, and the server keeps working', async () => {
  let isSound = false;
  const port = await serveRoute(async () => (isSound ? new Response('sound') : broken()));
  const url = `http://127.0.0.1:${port}`;
  await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow();
  isSound = true;
  expect(await (await fetch(url)).text()).toBe('sound');
});

test.each(['PUT', 'DELETE', 'HEAD', 'PATCH'])(
  '%s from a Node client gets 405 with the allowed methods, and the route is not called',
  async (method) => {
    const asked: string[] = [];
    const port = await serveRoute(async (request) => {
      asked.push(request.method);
      return new Response();
    });
    const answer = await fetch(`http://127.0.0.1:${port}`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect(asked).toEqual([]);
  },
);

const deferred = () => Promise.withResolvers<void>();

/** Runs the garbage collector; objects used in this turn survive until the next. */
async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc');
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise(setImmediate);
    runInNewContext('gc')();
  }
}

/** An endless response. */
function endless(cancelled: () => void): Response {
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: cancelled,
  });
  return new Response(body);
}

/** A response whose source fails after its first bytes. */
function broken(): Response {
  let pulled = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    pulled += 1;
    if (pulled === 1) controller.enqueue(new Uint8Array(16));
    else controller.error(new Error('The source is gone.'));
  };
  return new Response(new ReadableStream({ pull }));
}

async function serveRoute(GET: ChatRoute['GET']): Promise<number> {
  const handle = nodeHandler({ GET, POST: GET });
  const server = createServer((req, res) => void handle(req, res));
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
