// The playground on the built site: each scene in Chromium, what it pays, and how it looks. The file that builds the site runs these.
import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';

/** `serve` serves the built site until the test has ended. */
export function testPlayground(serve: () => Promise<string>): void {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  async function open(look: { colorScheme?: 'light' | 'dark'; width?: number } = {}): Promise<Playground> {
    const { colorScheme = 'light', width = 1_280 } = look;
    const address = await serve();
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
    const problems: string[] = [];
    onTestFinished(async () => {
      await page.close();
      expect(problems).toEqual([]);
    });
    page.on('request', (request) => request.url().startsWith(`${address}/`) || problems.push(request.url()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()));
    await page.goto(`${address}/playground.html`, { waitUntil: 'networkidle' });
    return new Playground(page);
  }

  describe('the playground', () => {
    test('pays an edited amount once, and nothing after a rejection', async () => {
      const playground = await open();
      await playground.press(ASK);
      await playground.ledgerIs(0);
      await playground.root.getByLabel('Amount').fill('900');
      await playground.press('Approve €900');
      await playground.ledgerIs(1, '€900 to ACME');
      await playground.recordHas('The result of the payment: €900 paid to ACME.');
      await playground.press('Start again');
      await playground.press(ASK);
      await playground.press('Reject');
      await playground.recordHas('Pay €950 to ACME (pay): rejected');
      await playground.ledgerIs(0);
    });

    test('after a crash before the start, the next engine pays once and asks nothing', async () => {
      const playground = await open();
      await playground.stopAt('before the payment starts');
      await playground.ledgerIs(0);
      await playground.press('Crash');
      await playground.recordHas('paid to ACME.');
      await playground.ledgerIs(1, '€950 to ACME');
      expect(await playground.count('pay starts')).toBe(1);
      expect(await playground.root.getByText('Did it happen?').count()).toBe(0);
    });

    test('after a crash during the payment, a person is asked, and it is paid once', async () => {
      const playground = await open();
      await playground.stopAt('during the payment');
      await playground.press('Crash');
      await playground.root.getByText('Did it happen?').waitFor();
      await playground.ledgerIs(0);
      await playground.press('It did not happen: pay now');
      await playground.recordHas('paid to ACME.');
      await playground.ledgerIs(1, '€950 to ACME');
    });

    test('after a crash behind the payment, a person is asked, and it is not paid again', async () => {
      const playground = await open();
      await playground.stopAt('after the bank has paid');
      await playground.ledgerIs(1, '€950 to ACME');
      await playground.press('Crash');
      await playground.root.getByText('Did it happen?').waitFor();
      await playground.press('It happened');
      await playground.recordHas('paid to ACME.');
      await playground.ledgerIs(1, '€950 to ACME');
      expect(await playground.count('pay starts')).toBe(1);
    });

    test('an engine that stopped and did not crash continues', async () => {
      const playground = await open();
      await playground.stopAt('during the payment');
      await playground.press('Let it continue');
      await playground.ledgerIs(1, '€950 to ACME');
      await playground.recordHas('paid to ACME.');
    });

    test('refuses forged approvals with the reason, and pays an honest one of five tabs once', async () => {
      const playground = await open();
      await playground.press('A forged approval');
      await playground.press(ASK);
      await playground.press('Change it to €9,500 in the database, then approve');
      await playground.answerIs('Refused (tampered-run)');
      await playground.press('Send the approval of the €20 card');
      await playground.answerIs('Refused (outdated-card)');
      await playground.ledgerIs(0);
      await playground.press('Approve it honestly, in five tabs at once');
      await playground.answerIs('Recorded once, by Ann.');
      await playground.ledgerIs(1, '€950 to ACME');
      expect(await playground.count('pay starts')).toBe(1);
    });

    test('needs two people of finance, and counts nobody twice', async () => {
      const playground = await open();
      await playground.press('Two approvers');
      await playground.press(ASK);
      await playground.press('Approve as Max (sales)');
      await playground.answerIs('Refused (not-allowed)');
      await playground.press('Approve as Ann (finance)');
      await playground.answerIs('Recorded: the vote of Ann. 1 more vote is missing.');
      await playground.press('Approve as Ann (finance)');
      await playground.answerIs('Not counted: one person counts once.');
      await playground.ledgerIs(0);
      await playground.press('Approve as Bea (finance)');
      await playground.ledgerIs(1, '€950 to ACME');
    });

    test.each([
      { colorScheme: 'light', width: 1_280 },
      { colorScheme: 'dark', width: 390 },
    ] as const)('passes axe and fits the screen ($colorScheme, $width px)', async (look) => {
      const { page, root, press, answerIs, stopAt } = await open(look);
      await stopAt('after the bank has paid');
      await press('Crash');
      await root.getByText('Did it happen?').waitFor();
      expect(await violations(page)).toEqual([]);
      await press('A forged approval');
      await press(ASK);
      await press('Send the approval of the €20 card');
      await answerIs('Refused');
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(look.width);
    });
  });
}

const ASK = 'Ask the agent to pay ACME €950';

class Playground {
  readonly page: Page;
  readonly root: Locator;

  constructor(page: Page) {
    this.page = page;
    this.root = page.locator('.playground');
  }

  readonly press = (name: string): Promise<void> => this.root.getByRole('button', { name, exact: true }).click();

  /** The engine has stopped at this moment of an approved payment. */
  readonly stopAt = async (moment: string): Promise<void> => {
    await this.press('A crash');
    await this.root.getByLabel(moment).check();
    await this.press(ASK);
    await this.press('Approve');
    await this.root.getByRole('button', { name: 'Crash', exact: true }).waitFor();
  };

  readonly answerIs = (text: string): Promise<void> => this.root.locator('.answer', { hasText: text }).waitFor();

  async ledgerIs(payments: number, last = ''): Promise<void> {
    await this.root.getByText(`Payments: ${payments}`, { exact: true }).waitFor();
    expect(await this.root.locator('.facts ul li').allTextContents()).toEqual(payments === 0 ? [] : [last]);
  }

  recordHas = (text: string): Promise<void> => this.root.locator('.facts ol li', { hasText: text }).waitFor();

  count = (entry: string): Promise<number> => this.root.locator('.facts ol li', { hasText: entry }).count();
}

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate<readonly { id: string; nodes: { html: string }[] }[]>(
    "axe.run('.playground').then(({ violations }) => violations)",
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}
