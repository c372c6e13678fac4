// A server that responds, one that is down, one behind a proxy, and one that goes silent.
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
])('status %i counts as connected: %s', async (status, isConnected) => {
  const url = await listening((_request, response) => response.writeHead(status).end());
  const reported: boolean[] = [];
  expect((await watchedFetch((isConnected) => reported.push(isConnected))(url)).status).toBe(status);
  expect(reported).toEqual([isConnected]);
});

test('a refused connection is reported, a request that the caller aborts is not', async () => {
  const reported: boolean[] = [];
  const ask = watchedFetch((isConnected) => reported.push(isConnected));
  await expect(ask('http://127.0.0.1:1')).rejects.toThrow();
  expect(reported).toEqual([false]);
  await expect(ask('http://127.0.0.1:1', { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(reported).toEqual([false]);
});

test('a request without a response times out', async () => {
  const url = await listening(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const reported: boolean[] = [];
  const asked = watchedFetch((isConnected) => reported.push(isConnected))(url);
  const refused = expect(asked).rejects.toThrow('stopped responding');
  await vi.advanceTimersByTimeAsync(60_000);
  await refused;
  expect(reported).toEqual([false]);
});

test('a response that stops halfway times out', async () => {
  const url = await listening((_request, response) => response.writeHead(200).write('{'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const cut = expect((await watchedFetch(() => {})(url)).text()).rejects.toThrow('stopped responding');
  await vi.advanceTimersByTimeAsync(60_000);
  await cut;
});

test('a silent stream times out, a stream with keep-alives does not', async () => {
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
  const cut = expect(reader?.read()).rejects.toThrow('stopped responding');
  await vi.advanceTimersByTimeAsync(60_000);
  await cut;
});
