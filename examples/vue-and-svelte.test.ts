// The Vue and the Svelte chat, built with Vite on the elements as npm publishes them, in a real browser.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { build, type PreviewServer, preview } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleElements } from '../packages/react/scripts/bundle-elements.ts';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../scripts/test-browser.mjs';

const folder = mkdtempSync(join(tmpdir(), 'countersign-elements-'));
const { SCREENSHOTS } = process.env;
let browser: Awaited<ReturnType<typeof openBrowser>>;

beforeAll(async () => {
  await bundleElements(folder);
  browser = await openBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

describe.each(['vue', 'svelte'])('the %s chat', (framework) => {
  const root = join(import.meta.dirname, `${framework}-chat`);
  const payments = join(folder, `${framework}.jsonl`);
  let server: PreviewServer;
  let page: Page;

  beforeAll(async () => {
    process.env.PAYMENTS = payments;
    const options = { root, logLevel: 'error', build: { outDir: join(folder, framework) } } as const;
    const elements = [{ find: '@countersign/react/elements', replacement: join(folder, 'index.js') }];
    await build({ ...options, resolve: { alias: elements } });
    server = await preview({ ...options, preview: { host: '127.0.0.1', port: 0 } });
    const context = await browser.newContext({ viewport: { width: 390, height: 800 }, reducedMotion: 'reduce' });
    page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('pageerror', (error) => {
      throw error;
    });
  }, 120_000);
  afterAll(async () => {
    delete process.env.PAYMENTS;
    await page?.context().close();
    await server?.close();
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const paid = (to: string) => linesOf(payments).filter((payment) => payment.to === to);

  /** A new chat in which a payment waits. */
  async function ask(to: string) {
    await page.goto(server.resolvedUrls?.local[0] ?? '');
    await page.getByLabel('Your message').fill(`Pay ${to} 250`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Pay €250 to ${to}` }).waitFor();
    await page.getByText('Sending a message cancels the requests above.').waitFor();
  }

  test('approve with the keyboard alone: the call runs once, and the focus returns to the input', async () => {
    await ask('Yes Ltd');
    for (const _ of ['Reject', 'Ask for changes', 'Edit', 'Approve']) await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe('Approve');
    await page.keyboard.press('Enter');
    await page.getByText('The tool said: ["Paid 250 to Yes Ltd."]').waitFor();
    await page
      .locator('countersign-card')
      .getByText(/^Approved/)
      .waitFor();
    expect(await page.getByRole('heading', { level: 2 }).count()).toBe(0);
    expect(paid('Yes Ltd')).toHaveLength(1);
    await expect.poll(() => page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Your message');
    expect(await page.getByText('Sending a message cancels').count()).toBe(0);
  });

  test('reject: nothing is paid, and the model reads the reason', async () => {
    await ask('No Ltd');
    await button('Reject').click();
    await page.getByLabel('Reason (optional)').fill('Not this month');
    await page.keyboard.press('Enter');
    await page
      .locator('countersign-card')
      .getByText(/^Rejected/)
      .waitFor();
    await page.getByText('Not this month').first().waitFor();
    expect(paid('No Ltd')).toEqual([]);
  });

  test('edit: a limit of the tool is shown at the field, and the edited call runs once', async () => {
    await ask('Edit Ltd');
    await button('Edit').click();
    await page.getByLabel('amount').fill('5000');
    await button('Approve with these changes').click();
    await page.getByText('At most 1000.').first().waitFor();
    await page.getByLabel('amount').fill('75');
    await button('Approve with these changes').dblclick();
    await page.getByText('The tool said: ["Paid 75 to Edit Ltd."]').waitFor();
    expect(paid('Edit Ltd')).toMatchObject([{ amount: 75 }]);
  });

  test('what a screen reader says of a new card is not seen', async () => {
    await ask('Silent Ltd');
    const said = page.locator('countersign-requests output').first();
    expect(await said.textContent()).toContain('Approval needed: Pay €250 to Silent Ltd');
    expect(await said.boundingBox()).toMatchObject({ width: 1, height: 1 });
  });

  test.each(['light', 'dark'] as const)('axe finds no violations in %s on a phone', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await ask(`Look ${colorScheme}`);
    await page.evaluate(axe.source);
    expect(await violations(page)).toEqual([]);
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${framework}-${colorScheme}.png`, fullPage: true });
    await button('Approve').click();
    await page.getByText('The tool said: ["Paid 250').waitFor();
    expect(await violations(page)).toEqual([]);
    if (SCREENSHOTS)
      await page.screenshot({ path: `${SCREENSHOTS}/${framework}-${colorScheme}-done.png`, fullPage: true });
  });

  const focused = () => page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.textContent);
});

type Payment = { readonly to: string; readonly amount: number };

function linesOf(path: string): readonly Payment[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Payment);
  } catch {
    // No payment yet.
    return [];
  }
}

function violations(page: Page): Promise<unknown> {
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run()).violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  });
}
