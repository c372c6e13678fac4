// A test desk: the real server on SQLite, with an agent that makes the given calls, and real browsers.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoAgents, type RunningServer, type ServeOptions, serve } from '@countersign/server';
import { type Countersign, type CountersignOptions, countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { internalsOf } from 'countersign/store';
import { standInModel } from 'countersign/testing';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';
import { type Ask, asking } from '../server.ts';
import { builtInbox } from './built-inbox.ts';
import { type Call, defineClerk, type Effect } from './clerk.ts';

export type Desk = {
  readonly url: string;
  readonly ai: Countersign;
  /** The effects of the tools. */
  readonly done: Effect[];
  /** Starts a run of the agent `clerk` that makes these calls at once; resolves when it pauses or ends, with its id. */
  start(calls: readonly Call[], by?: string): Promise<string>;
  /** Asks the API as this person. */
  as(person: string): Ask;
  /** The path of a link that signs this person in. */
  loginPath(person: string): Promise<string>;
  /** The ids of the pending requests of a run. */
  waiting(runId: string): Promise<readonly string[]>;
  /** Stops the server, and starts it again at the same address. */
  stop(): Promise<void>;
  comeBack(): Promise<void>;
};

/** The port of the desk before this one, if it has closed. */
let freedPort = 0;

/** At the same address as the desk before, so that the browser still has the app: to load and compile it is half of the cost of a page. */
async function openAgain(open: (port: number) => Promise<RunningServer>): Promise<RunningServer> {
  const port = freedPort;
  freedPort = 0;
  // Another process may have taken it.
  const server = await open(port).catch((error: unknown) => (port === 0 ? Promise.reject(error) : open(0)));
  onTestFinished(() => {
    freedPort = server.port;
  });
  return server;
}

/** Everyone may see and decide everything; the header `x-user` names the user. */
export async function openDesk(options: ServeOptions = {}, instance: Partial<CountersignOptions> = {}): Promise<Desk> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-inbox-'));
  const store = sqliteStore(join(folder, 'runs.sqlite'));
  const ai = countersign({ model: standInModel({ wordMs: 2 }), retry: false, store, ...instance });
  const done: Effect[] = [];
  defineClerk(ai, done);
  demoAgents(ai, { onEffect: ({ tool, input }) => void done.push({ tool, input }) });
  const inboxDir = await builtInbox();
  const open = async (port: number): Promise<RunningServer> => {
    const opened = await serve(ai, {
      port,
      inboxDir,
      graceMs: 100,
      model: { name: 'stand-in', demo: true },
      identify: (request) => {
        const id = request.headers.get('x-user');
        return id === null ? null : { id, roles: ['desk'] };
      },
      mayRead: () => true,
      maySteer: () => true,
      ...options,
    });
    internalsOf(ai).policies.defaultDeciders = () => ({ roles: ['desk'] });
    return opened;
  };
  let server = await openAgain(open);
  onTestFinished(async () => {
    await server.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const { port } = server;
  const url = `http://127.0.0.1:${port}`;
  const as = (person: string) => asking(url, { 'x-user': person });
  return {
    url,
    ai,
    done,
    as,
    start: async (calls, by = 'ada') => {
      const { status, body } = await as(by)('POST', '/api/v1/runs', { agent: 'clerk', prompt: JSON.stringify(calls) });
      expect(status).toBe(201);
      await ai.runs.wait(body.id);
      return body.id;
    },
    loginPath: (id) => server.app.loginPath({ id }),
    waiting: async (runId) => (await ai.runs.get(runId)).pending,
    stop: async () => void (await server.close()),
    comeBack: async () => {
      server = await open(port);
    },
  };
}

let browser: Browser;
/** Two people of a test share no cookies, so each has a context of its own. One is left for the next test. */
let left: BrowserContext | undefined;

/** Call this once in a file that opens pages. */
export function withBrowser(): void {
  // A browser on a busy machine takes its time.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  beforeAll(async () => {
    browser = await openBrowser();
    left = undefined;
    await builtInbox();
  });
  afterAll(() => browser?.close());
}

/** For waits that take longer on a busy machine. */
export const PATIENT = { timeout: 30_000 };

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

type Look = Pick<BrowserContextOptions, 'viewport' | 'colorScheme' | 'hasTouch' | 'reducedMotion'> & {
  /** For tests that stop the clock of their browser or install workers in it. */
  readonly ownContext?: boolean;
};

/** Opens a page in this person's browser. It must contact only the server, break no policy and throw nothing. */
export async function browse(desk: Desk, person: string, path = '/', look: Look = {}): Promise<Page> {
  const page = await (await contextFor(look)).newPage();
  await page.setViewportSize(look.viewport ?? DESKTOP);
  // Drawing what moves takes a fifth of the CPU time.
  await page.emulateMedia({ colorScheme: look.colorScheme ?? 'light', reducedMotion: look.reducedMotion ?? 'reduce' });
  if (person !== '') await page.setExtraHTTPHeaders({ 'x-user': person });
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/content security policy|Warning:/i.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(desk.url)) faults.push(`request to ${request.url()}`);
  });
  onTestFinished(async () => {
    await leave(page, desk.url, look);
    expect(faults).toEqual([]);
  });
  page.setDefaultTimeout(30_000);
  await page.goto(`${desk.url}${path}`);
  return page;
}

/** A context that an earlier test has left, or a new one. */
async function contextFor({ hasTouch = false, ownContext = hasTouch }: Look): Promise<BrowserContext> {
  if (ownContext || left === undefined) return browser.newContext({ hasTouch });
  const context = left;
  left = undefined;
  return context;
}

/** Closes the page, and leaves its context for the next test as if nothing had happened in it. */
async function leave(page: Page, origin: string, { hasTouch = false, ownContext = hasTouch }: Look): Promise<void> {
  const context = page.context();
  // Requests that a test still blocks fail when the page closes, and nothing would catch that.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  if (ownContext || left !== undefined || page.isClosed()) return context.close();
  const session = await context.newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'local_storage,indexeddb' });
  await Promise.all(context.pages().map((one) => one.close()));
  await context.setOffline(false);
  await context.clearCookies();
  left = context;
}

export const cardPath = (requestId: string): string => `/requests/${encodeURIComponent(requestId)}`;
/** The open request. */
export const card = (page: Page) => page.getByRole('region', { name: 'Request' });
/** The list beside it. */
export const list = (page: Page) => page.getByRole('region', { name: 'Inbox' });
/** What the toast says of an approved payment, whether it runs or is done: the toast follows the outcome. */
export const APPROVED = /^(Approved: )?Pay/;
/** A short message about a finished action, by its tone. */
export const toast = (page: Page, tone: string, text: string | RegExp) =>
  page.locator(`[data-toast="${tone}"]`).getByText(text).first();

/** Chooses an entry of the menu that this button opens. */
export async function choose(page: Page, button: string | RegExp, entry: string): Promise<void> {
  await page.getByRole('button', { name: button }).filter({ visible: true }).first().click();
  await page.getByRole('menuitemradio', { name: entry, exact: true }).click();
}

/** Adds a filter by the menu of the list. */
export async function filterBy(page: Page, name: string, value: string): Promise<void> {
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
  await page.getByRole('menuitemradio', { name: value, exact: true }).click();
}

export const removeFilter = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name: `Remove the filter ${name}` }).click();

/** Opens the menu of the account and chooses an entry. */
export async function account(page: Page, entry: string): Promise<void> {
  await page
    .getByRole('button', { name: /^Account/ })
    .filter({ visible: true })
    .click();
  await page
    .getByRole('menuitem', { name: entry })
    .or(page.getByRole('menuitemradio', { name: entry }))
    .or(page.getByRole('menuitemcheckbox', { name: entry }))
    .click();
}
