// The page under test, built and served on loopback, beside a chat server that the test controls.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../scripts/test-browser.mjs';
import type { Scene } from './page/main.tsx';

/** A request of the page to `/api/chat`. The test answers it. */
export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly body: any;
  /** Streams chunks of the UI message stream. `end` is false to stay open: a watch, or a stream that continues. */
  send(chunks: readonly object[], end?: boolean): void;
  json(value: unknown): void;
  fail(status: number, text: string): void;
  /** Starts an answer and cuts the connection. */
  cut(): void;
  readonly closed: Promise<void>;
};

export type Site = {
  /** Opens a new, empty page. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** Returns the next request of the page that the test has not taken. */
  asked(method?: string, ending?: string): Promise<Asked>;
  /** The number of requests that the test has not taken. */
  untaken(): number;
  /** Cuts those requests and returns them. */
  forget(): readonly string[];
  close(): Promise<void>;
};

type SiteOptions = {
  /** A real chat route, which answers instead of the test. */
  readonly api?: (request: IncomingMessage, response: ServerResponse) => unknown;
  /** React runs effects twice in development, which finds missing clean-ups. Large pages take half the time in production. */
  readonly mode?: 'development' | 'production';
  /** Other files than those of the React page. */
  readonly files?: Files;
};

export async function openSite({ api, mode = 'development', files: given }: SiteOptions = {}): Promise<Site> {
  if (!given) built[mode] ??= buildPage(mode);
  const files = given ?? (await built[mode]) ?? new Map();
  const waiting: { fits: (asked: Asked) => boolean; take: (asked: Asked) => void }[] = [];
  const untaken: Asked[] = [];

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (!pathname.startsWith('/api/')) return serve(files, pathname, response);
    if (api) return void api(request, response);
    void readAsked(request, response, pathname).then((asked) => {
      const index = waiting.findIndex(({ fits }) => fits(asked));
      if (index < 0) untaken.push(asked);
      else waiting.splice(index, 1)[0]?.take(asked);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const browser = await openBrowser();

  return {
    async open(options = {}) {
      for (const asked of untaken.splice(0)) asked.cut();
      const context = await browser.newContext({
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
        reducedMotion: 'reduce',
        ...options,
      });
      const page = await context.newPage();
      page.on('pageerror', (error) => {
        throw error;
      });
      page.setDefaultTimeout(30_000);
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.waitForFunction(() => 'show' in window);
      return page;
    },
    asked(method = 'POST', ending = '') {
      const fits = (asked: Asked) => asked.method === method && asked.path.endsWith(ending);
      const index = untaken.findIndex(fits);
      if (index >= 0) return Promise.resolve(untaken.splice(index, 1)[0] as Asked);
      return new Promise((take) => waiting.push({ fits, take }));
    },
    untaken: () => untaken.length,
    forget: () =>
      untaken.splice(0).map((asked) => {
        asked.cut();
        return `${asked.method} ${asked.path}`;
      }),
    async close() {
      await browser.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Shows a scene on the page. */
export const show = (page: Page, scene: Scene): Promise<void> => page.evaluate((scene) => window.show(scene), scene);

export type Files = ReadonlyMap<string, { readonly type: string; readonly content: string | Uint8Array }>;

/** The files of a worker share a build of each mode. */
const built: { [mode in 'development' | 'production']?: Promise<Files> } = {};

async function buildPage(mode: 'development' | 'production'): Promise<Files> {
  const output = (await build({
    root: fileURLToPath(new URL('page', import.meta.url)),
    configFile: false,
    logLevel: 'error',
    build: { write: false, minify: false },
    define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
    mode,
    oxc: { jsx: { development: mode === 'development' } },
  })) as Rolldown.RolldownOutput;
  return new Map(
    output.output.map((file) => [
      `/${file.fileName}`,
      file.type === 'chunk'
        ? { type: 'text/javascript', content: file.code }
        : { type: 'text/html; charset=utf-8', content: file.source },
    ]),
  );
}

function serve(files: Files, pathname: string, response: ServerResponse) {
  const file = files.get(pathname === '/' ? '/index.html' : pathname);
  if (!file) return void response.writeHead(404).end();
  // The page must work under a policy that forbids loading from elsewhere and running markup.
  const policy = "default-src 'self'; img-src 'none'; require-trusted-types-for 'script'";
  response.writeHead(200, { 'content-type': file.type, 'content-security-policy': policy }).end(file.content);
}

async function readAsked(request: IncomingMessage, response: ServerResponse, path: string): Promise<Asked> {
  let text = '';
  for await (const chunk of request) text += chunk;
  const head = () => {
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  };
  return {
    method: request.method ?? '',
    path,
    body: text === '' ? undefined : JSON.parse(text),
    send(chunks, end = true) {
      head();
      for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      if (end) response.end('data: [DONE]\n\n');
    },
    json: (value) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
    fail: (status, text) => void response.writeHead(status).end(text),
    cut() {
      // A browser repeats a request by itself if the connection is cut before any answer.
      head();
      response.write(': cut\n\n', () => response.destroy());
    },
    closed: new Promise((resolve) => response.once('close', resolve)),
  };
}
