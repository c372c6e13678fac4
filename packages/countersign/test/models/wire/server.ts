// A provider on 127.0.0.1 that follows a script, records requests, and rejects what the real one would.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Body, Cut, Dialect, Events, Scripted } from './script.ts';

export type Wire = {
  readonly url: string;
  /** All requests in order, rejected ones too. */
  readonly requests: readonly Body[];
  /** The problems that it would have rejected with 400. */
  readonly faults: readonly string[];
  /** Starts a new script of responses and clears the records. */
  script(...answers: readonly Scripted[]): void;
  /** Resolves when the next response stalls. */
  stalls(): Promise<unknown>;
  /** Destroys the connections of stalled responses. */
  cut(): void;
  /** Resolves when the client has left the stalled response. */
  left(): Promise<void>;
  close(): Promise<void>;
};

export async function startWire(dialect: Dialect): Promise<Wire> {
  let answers: Scripted[] = [];
  let requests: Body[] = [];
  let faults: string[] = [];
  const stalled = new Set<ServerResponse>();
  const news = new EventEmitter();
  const stall = (response: ServerResponse) => {
    stalled.add(response);
    news.emit('stall');
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await bodyOf(request));
    requests.push(body);
    const path = (request.url ?? '').replace(/\?.*$/, '');
    const fault = requestFault(dialect, request, path) ?? dialect.faultOf(body);
    if (fault !== undefined) {
      faults.push(fault);
      return sendJson(response, 400, dialect.failure(400, fault));
    }
    const next = answers.shift() ?? { fail: 500, message: 'the script is at its end' };
    if ('fail' in next) {
      return sendJson(response, next.fail, dialect.failure(next.fail, next.message ?? 'as scripted'), next.headers);
    }
    if (!dialect.wantsStream(path, body)) {
      if (next.cut) return sendHalf(response, dialect.whole(next.say), next.cut);
      return sendJson(response, 200, dialect.whole(next.say));
    }
    const events = dialect.events(next.say);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(said(events, next.cut));
    if (next.cut?.startsWith('stall')) stall(response);
    else if (next.cut === 'error') response.end(events.error);
    else response.end(next.cut === 'end' ? '' : events.ending.join(''));
  }

  function sendHalf(response: ServerResponse, body: Body, cut: Cut): void {
    const text = JSON.stringify(body);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.write(text.slice(0, text.length / 2), () => {
      if (cut === 'end') response.destroy();
    });
    stall(response);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    get faults() {
      return faults;
    },
    script(...next) {
      answers = [...next];
      requests = [];
      faults = [];
      stalled.clear();
    },
    stalls: () => once(news, 'stall'),
    cut() {
      for (const response of stalled) response.destroy();
    },
    async left() {
      await Promise.all([...stalled].map((response) => response.closed || once(response, 'close')));
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function said({ opening, saying }: Events, cut: Cut | undefined): string {
  const last = saying.at(-1) ?? [];
  const things = cut === 'stall-inside' ? saying.with(-1, last.slice(0, Math.floor(last.length / 2))) : saying;
  return [...opening, ...things.flat()].join('');
}

function requestFault(dialect: Dialect, request: IncomingMessage, path: string): string | undefined {
  if (request.method !== 'POST' || !dialect.path.test(path)) return `no such endpoint: ${request.method} ${path}`;
  return request.headers[dialect.keyHeader] ? undefined : `the header ${dialect.keyHeader} is missing`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: Body,
  headers?: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
