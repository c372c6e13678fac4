// A server that is there, one that is away, one behind a proxy, and one that falls silent.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { watchedFetch } from './watched-fetch.ts';

let server: Server | undefined;
afterEach(() => {
  vi.useRealTimers();
  server?.closeAllConnections();
  server?.close();
});

async function listening(answer: RequestListener): Promise<string> {
  const listener = createServer(answer);
  server = listener;
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

test.each([
  [200, true],
  [401, true],
  [500, true],
  [502, false],
  [503, false],
])('an answer of %i: is the server there? %s', async (status, isThere) => {
  const url = await listening((_request, response) => response.writeHead(status).end());
  const told: boolean[] = [];
  expect((await watchedFetch((there) => told.push(there))(url)).status).toBe(status);
  expect(told).toEqual([isThere]);
});

test('where nobody listens it is away, and whoever gives up themselves says nothing of it', async () => {
  const told: boolean[] = [];
  const ask = watchedFetch((there) => told.push(there));
  await expect(ask('http://127.0.0.1:1')).rejects.toThrow();
  expect(told).toEqual([false]);
  await expect(ask('http://127.0.0.1:1', { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(told).toEqual([false]);
});

test('a server that takes a request and never answers is given up', async () => {
  const url = await listening(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const told: boolean[] = [];
  const asked = watchedFetch((there) => told.push(there))(url);
  const refused = expect(asked).rejects.toThrow('does not answer any more');
  await vi.advanceTimersByTimeAsync(30_000);
  await refused;
  expect(told).toEqual([false]);
});

test('an answer that stops in the middle is given up', async () => {
  const url = await listening((_request, response) => response.writeHead(200).write('{'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const cut = expect((await watchedFetch(() => {})(url)).text()).rejects.toThrow('does not answer any more');
  await vi.advanceTimersByTimeAsync(30_000);
  await cut;
});

test('a stream that falls silent is cut, and one that gives signs of life is not', async () => {
  const alive: (() => void)[] = [];
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write(': connected\n\n');
    alive.push(() => response.write(': keep-alive\n\n'));
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const response = await watchedFetch(() => {})(url);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('connected');
  for (let minute = 0; minute < 3; minute++) {
    await vi.advanceTimersByTimeAsync(50_000);
    for (const sign of alive) sign();
    expect((await reader?.read())?.value).toContain('keep-alive');
  }
  const cut = expect(reader?.read()).rejects.toThrow('does not answer any more');
  await vi.advanceTimersByTimeAsync(60_000);
  await cut;
});
