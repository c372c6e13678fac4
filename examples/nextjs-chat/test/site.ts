// The built app on loopback with an empty store, and a browser to use it with.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../scripts/test-browser.mjs';
import { buildApp, folder } from './build.ts';

export type Site = {
  readonly port: number;
  /** Opens a page in a new browser context. `port` differs when a proxy stands in between. */
  open(path?: string, options?: OpenOptions): Promise<Page>;
  /** What the bank has done for a receiver. */
  transfersTo(receiver: string): readonly { readonly to: string; readonly amount: number }[];
  /** What pages have complained about since the last time. */
  complaints(): readonly string[];
  close(): Promise<void>;
};

export type OpenOptions = BrowserContextOptions & { readonly port?: number };

export async function openSite(): Promise<Site> {
  await buildApp();
  const data = mkdtempSync(join(tmpdir(), 'countersign-next-'));
  const port = await freePort();
  const server = await startApp(port, data);
  const browser = await openBrowser();
  let complaints: string[] = [];

  return {
    port,
    async open(path = '/', { port: through = port, ...options } = {}) {
      const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      page.on('pageerror', ({ message }) => complaints.push(message));
      page.on('console', (said) => {
        if (said.type() === 'error' || said.type() === 'warning') complaints.push(said.text());
      });
      await page.goto(new URL(path, `http://127.0.0.1:${through}`).href);
      await alive(page);
      return page;
    },
    transfersTo(receiver) {
      const lines = readLines(join(data, 'transfers.jsonl'));
      return lines.map((line) => JSON.parse(line)).filter(({ to }) => to === receiver);
    },
    complaints() {
      const said = complaints;
      complaints = [];
      return said;
    },
    async close() {
      await browser.close();
      await stopApp(server);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Resolves when React has taken over what the server sent: a click before that would be lost. */
export async function alive(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const input = document.querySelector('textarea, input');
    return input !== null && Object.keys(input).some((key) => key.startsWith('__reactProps'));
  });
}

/** Says something in the chat. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Your message').fill(text);
  await page.keyboard.press('Enter');
}

/** The cards that wait, in order. */
export const cards = (page: Page): Locator => page.locator('[data-countersign="card"]');

/** The lines of decided requests. */
export const decided = (page: Page): Locator => page.locator('[data-countersign="decided"]');

export const button = (place: Page | Locator, name: string): Locator =>
  place.getByRole('button', { name, exact: true });

/** Resolves when the answer is complete. */
export async function atRest(page: Page): Promise<void> {
  await page.locator('[role="log"][aria-busy="false"]').waitFor();
}

export const conversation = (page: Page): Promise<string> => page.getByRole('log').innerText();

async function startApp(port: number, data: string): Promise<ChildProcess> {
  const next = resolve(folder, '../../node_modules/next/dist/bin/next');
  const child = spawn(process.execPath, [next, 'start', '-H', '127.0.0.1', '-p', `${port}`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      COUNTERSIGN_DB: join(data, 'chat.sqlite'),
      DEMO_DELAY_MS: '2',
    },
  });
  let said = '';
  await new Promise<void>((ready, fail) => {
    const hear = (text: Buffer) => {
      said += text;
      if (said.includes('Ready in')) ready();
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('exit', (code) => fail(new Error(`next start ended with ${code}:\n${said}`)));
  });
  return child;
}

async function stopApp(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    // No payment yet.
    return [];
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
