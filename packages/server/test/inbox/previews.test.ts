// Previews on the card: rows, text and failures are inert, and a changed one stands beside the one before.
import { type ToolConfig, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, card, cardPath, type Desk, openDesk, PATIENT, withBrowser } from './desk.ts';

withBrowser();

/** The path of a card with this preview. */
async function asked(desk: Desk, preview: NonNullable<ToolConfig['preview']>): Promise<string> {
  const clean = desk.ai.defineTool(
    {
      name: 'clean',
      description: 'Cleans up.',
      inputSchema: z.object({ below: z.number() }),
      title: 'Remove products that are out of stock',
      needsApproval: true,
      risk: 'high',
      reversibility: 'irreversible',
      preview,
    },
    (input) => {
      desk.done.push({ tool: 'clean', input });
      return 'cleaned';
    },
  );
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Cleaned.' : { calls: [{ name: 'clean', input: { below: 1 } }] },
  );
  const keeper = desk.ai.defineAgent({ name: 'keeper', description: 'Keeps the stock.', tools: [clean], model });
  const { id } = await keeper.start('Clean up.');
  await desk.ai.runs.wait(id);
  const [waiting = ''] = await desk.waiting(id);
  return cardPath(waiting);
}

const approve = (page: Page) => card(page).getByRole('button', { name: 'Approve', exact: true }).click();
const cells = (page: Page) => card(page).getByRole('table').last().getByRole('row').allInnerTexts();

test('rows are a table, and a changed preview is asked about again with both side by side', async () => {
  const desk = await openDesk();
  let coffee = 0;
  const stock = () => [
    { product: 'soap', left: 0 },
    { product: '<img src=x onerror=alert(1)>', left: coffee, note: 'new' },
  ];
  const path = await asked(desk, stock);
  const page = await browse(desk, 'ada', path);
  await card(page).getByText('Cannot be undone').waitFor(PATIENT);
  expect(await cells(page)).toEqual(['product\tleft\tnote', 'soap\t0\t', '<img src=x onerror=alert(1)>\t0\tnew']);
  coffee = 7;
  await approve(page);
  const paths = async () => (await desk.ai.runs.requests()).items.map(({ id }) => cardPath(id));
  // Until the approval is recorded, the first question waits.
  await expect.poll(async () => (await paths()).filter((asked) => asked !== path), PATIENT).toHaveLength(1);
  const [again = ''] = await paths();
  expect(desk.done).toEqual([]);
  await page.goto(`${desk.url}${again}`);
  await card(page).getByText('What would happen has changed. Please check it again.').waitFor(PATIENT);
  expect(await card(page).getByRole('table').count()).toBe(2);
  expect(await cells(page)).toContain('<img src=x onerror=alert(1)>\t7\tnew');
  await approve(page);
  await expect.poll(() => desk.done, PATIENT).toEqual([{ tool: 'clean', input: { below: 1 } }]);
});

test('a failed preview is a warning, and the request can be rejected', async () => {
  const desk = await openDesk();
  const page = await browse(
    desk,
    'ada',
    await asked(desk, () => Promise.reject(new Error('the stock <b>list</b> is down'))),
  );
  await card(page).getByText('Preview failed: the stock <b>list</b> is down').waitFor(PATIENT);
  await card(page).getByRole('button', { name: 'Reject', exact: true }).click();
  await card(page).getByLabel('Reason (optional)').press('Enter');
  await card(page)
    .getByText(/Rejected by ada/)
    .waitFor(PATIENT);
  expect(desk.done).toEqual([]);
});

test('the lines of a diff keep their signs', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', await asked(desk, () => '@@ shop.txt @@\n-soap\n+tea <i>\n milk'));
  const lines = card(page).locator('[data-countersign="preview-line"]');
  await lines.first().waitFor(PATIENT);
  expect(await lines.allTextContents()).toEqual(['@@ shop.txt @@\n', '-soap\n', '+tea <i>\n', ' milk\n']);
  expect(await card(page).locator('[data-line]').count()).toBe(2);
});

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('files are an image, a small table and downloads; nothing in them runs', async () => {
  const desk = await openDesk();
  const csv = 'account,amount\r\n"<b>ACME</b>, Inc.",950\r\n';
  const path = await asked(desk, () => ({
    total: 950,
    files: [
      { name: 'receipt.png', mediaType: 'image/png', data: PIXEL },
      { name: 'payments.csv', mediaType: 'text/csv', data: btoa(csv) },
      { name: 'invoice ü.pdf', mediaType: 'application/pdf', data: btoa('<script>alert(1)</script>') },
      { name: 'scan.pdf', mediaType: 'application/pdf', data: new Uint8Array(700_000).fill(32) },
    ],
  }));
  const page = await browse(desk, 'ada', path);
  const files = card(page).getByRole('list', { name: 'Files' });
  const image = files.getByRole('img', { name: 'receipt.png' });
  await image.waitFor(PATIENT);
  await expect
    .poll(() => image.evaluate((shown) => (shown as unknown as { naturalWidth: number }).naturalWidth), PATIENT)
    .toBe(1);
  expect(await cells(page)).toEqual(['account\tamount', '<b>ACME</b>, Inc.\t950']);
  const link = files.getByRole('link', { name: 'invoice ü.pdf' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  expect(download.suggestedFilename()).toBe('invoice ü.pdf');

  // The store keeps a large one beside the record.
  const scan = await fetch((await files.getByRole('link', { name: 'scan.pdf' }).getAttribute('href')) ?? '', {
    headers: { 'x-user': 'ada' },
  });
  expect((await scan.arrayBuffer()).byteLength).toBe(700_000);

  const url = (await link.getAttribute('href')) ?? '';
  const get = (user: string) => fetch(url, { headers: { 'x-user': user } });
  const served = await get('ada');
  expect(Object.fromEntries(served.headers)).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': "attachment; filename*=UTF-8''invoice%20%C3%BC.pdf",
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  });
  expect(await served.text()).toBe('<script>alert(1)</script>');
  expect((await fetch(url)).status).toBe(401);
  expect((await fetch(url.replace(/[0-9a-f]{64}$/, '0'.repeat(64)), { headers: { 'x-user': 'ada' } })).status).toBe(
    404,
  );
  const { body } = await desk.as('ada')('GET', `/api/v1${path}`);
  expect(body.preview.files.map(({ name, data }: Record<string, unknown>) => [name, typeof data])).toEqual([
    ['receipt.png', 'undefined'],
    ['payments.csv', 'string'],
    ['invoice ü.pdf', 'undefined'],
    ['scan.pdf', 'undefined'],
  ]);
});

test('people who cannot see a request cannot get its files', async () => {
  const desk = await openDesk({ mayRead: (run, { id }) => run.startedBy === id });
  const path = await asked(desk, () => ({ files: [{ name: 'a.txt', mediaType: 'text/plain', data: btoa('secret') }] }));
  const [request] = (await desk.ai.runs.requests()).items;
  const { files = [] } = (request?.preview ?? {}) as { readonly files?: readonly { readonly sha256: string }[] };
  const { status, body } = await desk.as('eve')('GET', `/api/v1${path}/files/${files[0]?.sha256}`);
  expect([status, body.code]).toEqual([404, 'unknown-request']);
});
