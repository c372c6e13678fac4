// <countersign-requests> and <countersign-card> on a plain page that names an address, against a real chat route and a real server.
import { serve } from '@countersign/server';
import { countersign, memoryStore, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute, nodeHandler } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { elementsFiles } from './elements-site.ts';
import { openSite, type Site } from './site.ts';

vi.setConfig({ testTimeout: 60_000 });

const paid: string[] = [];
let site: Site;
let page: Page;
let chats = 0;
let closeServer: () => Promise<void>;
let start: (to: string) => Promise<{ chatId: string; requestIds: readonly string[] }>;
let decide: (requestId: string, type: 'approve' | 'reject') => Promise<void>;

beforeAll(async () => {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== 'user') return 'Done.';
    const names = last.content.map((part) => ('text' in part ? part.text : '')).join('');
    return { calls: names.split(',').map((to) => ({ name: 'pay', input: { to, amount: 0 } })) };
  });
  const ai = countersign({ model, store: memoryStore() });
  const pay = ai.defineTool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string(), amount: z.number().max(1000) }),
      title: ({ to }) => `Pay ${to}`,
      needsApproval: true,
    },
    ({ to }) => {
      paid.push(to);
      return `Paid ${to}.`;
    },
  );
  const agent = ai.defineAgent({ name: 'clerk', tools: [pay] });
  const route = chatRoute(agent, { demo: true });
  const server = await serve(ai, { port: 0, identify: () => ({ id: 'demo' }), mayRead: () => true });
  const worker = ai.runs.work();
  closeServer = async () => {
    await worker.stop();
    await server.close();
  };
  const answer = nodeHandler(route);
  site = await openSite({
    files: await elementsFiles(),
    // The server stands behind the same origin, as behind a proxy.
    api: async (request, response) => {
      if (!request.url?.startsWith('/api/v1/')) return answer(request, response);
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const passed = await fetch(`http://127.0.0.1:${server.port}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': request.headers['content-type'] ?? 'application/json' },
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      response.writeHead(passed.status, { 'content-type': passed.headers.get('content-type') ?? '' });
      response.end(Buffer.from(await passed.arrayBuffer()));
    },
  });
  start = async (to) => {
    const chatId = `chat-${++chats}`;
    const body = { id: chatId, messages: [{ id: `user-${chats}`, role: 'user', parts: [{ type: 'text', text: to }] }] };
    const posted = new Request('http://127.0.0.1/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await (await route.POST(posted)).text();
    const { pending } = await ai.runs.get(chatId);
    return { chatId, requestIds: pending };
  };
  decide = async (requestId, type) => {
    await ai.runs.decide(requestId, type, { by: 'demo' });
  };
}, 120_000);
afterAll(async () => {
  await site.close();
  await closeServer();
});
beforeEach(async () => {
  page = await site.open();
  return async () => {
    expect(await page.evaluate(() => window.violations)).toEqual([]);
    await page.context().close();
  };
});

const button = (name: string) => page.getByRole('button', { name, exact: true });

/** Puts the markup into the page, as its author writes it. */
const write = (markup: string) =>
  page.evaluate(async (markup) => {
    await window.load();
    // The elements send the decisions themselves.
    window.answer = undefined;
    const parsed = new DOMParser().parseFromString(
      // The page forbids markup from strings; its author's file is no string.
      (window as any).trustedTypes.createPolicy('test', { createHTML: (text: string) => text }).createHTML(markup),
      'text/html',
    );
    document.getElementById('place')?.replaceChildren(...parsed.body.childNodes);
  }, markup);

test('the requests of a stored chat are decided one after the other, and the focus is not lost', async () => {
  const { chatId, requestIds } = await start('Ann,Ben');
  await write(`<countersign-requests url="/api/chat" chat-id="${chatId}"></countersign-requests><input id="next">`);
  await page.evaluate(() => {
    const element = document.querySelector('countersign-requests') as HTMLElement;
    Object.assign(element, { returnFocus: document.getElementById('next') });
  });
  await page.getByRole('heading', { name: 'Pay Ann' }).waitFor();
  await button('Approve').first().press('Enter');
  await expect.poll(() => page.getByRole('article').count()).toBe(1);
  const focused = () => page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.textContent);
  await expect.poll(focused).toBe('Pay Ben');
  await button('Reject').click();
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByRole('article').count()).toBe(0);
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('next');
  expect(paid.filter((to) => to === 'Ann' || to === 'Ben')).toEqual(['Ann']);
  expect(await page.evaluate(() => window.changes)).toEqual([[...requestIds], [requestIds[1]], []]);
});

test('a request that someone else decides leaves the page', async () => {
  const { chatId, requestIds } = await start('Carl');
  await write(`<countersign-requests url="/api/chat" chat-id="${chatId}"></countersign-requests>`);
  await button('Approve').waitFor();
  await decide(requestIds[0] as string, 'reject');
  await expect.poll(() => page.getByRole('article').count()).toBe(0);
  expect(paid).not.toContain('Carl');
});

test('a request of a server is edited at its address, and a late decision shows the one that counts', async () => {
  const { requestIds } = await start('Dora,Emil');
  const [dora, emil] = requestIds.map((id) => `/api/v1/requests/${encodeURIComponent(id)}`);
  await write(`<countersign-card url="${dora}"></countersign-card><countersign-card url="${emil}"></countersign-card>`);
  const [first, second] = [page.locator('countersign-card').first(), page.locator('countersign-card').last()];
  await first.getByRole('button', { name: 'Edit' }).click();
  await first.getByLabel('to').fill('Dora 2');
  await first.getByRole('button', { name: 'Approve with these changes' }).dblclick();
  await first.getByText(/^Approved with changes by/).waitFor();
  await expect.poll(() => paid.filter((to) => to.startsWith('Dora'))).toEqual(['Dora 2']);
  await second.getByRole('button', { name: 'Approve' }).waitFor();
  await decide(requestIds[1] as string, 'reject');
  await second.getByRole('button', { name: 'Approve' }).click();
  await second.getByText(/^Rejected by/).waitFor();
  expect(paid).not.toContain('Emil');
});

test('what cannot be loaded is said, and another address is another request', async () => {
  const { requestIds } = await start('Fay,Gus');
  const name = (requestId = 'nothing:here') =>
    page
      .locator('countersign-card')
      .evaluate(
        (element, url) => element.setAttribute('url', url),
        `/api/v1/requests/${encodeURIComponent(requestId)}`,
      );
  await write('<countersign-card url="/api/v1/requests/nothing%3Ahere"></countersign-card>');
  await page.getByRole('alert').getByText('Could not load this.').waitFor();
  await name(requestIds[0]);
  await page.getByRole('heading', { name: 'Pay Fay' }).waitFor();
  await name(requestIds[1]);
  await page.getByRole('heading', { name: 'Pay Gus' }).waitFor();
  await name();
  await page.getByRole('alert').getByText('Could not load this.').waitFor();
  expect(await button('Approve').count()).toBe(0);
  await page.locator('countersign-card').evaluate(
    (element, url) => {
      Object.assign(element, { fetch: () => fetch(url) });
    },
    `/api/v1/requests/${encodeURIComponent(requestIds[0] as string)}`,
  );
  await button('Try again').click();
  await page.getByRole('heading', { name: 'Pay Fay' }).waitFor();
});
