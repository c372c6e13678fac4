// Appearance: phone and desktop, light and dark, screen readers, and hostile input.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import {
  APPROVED,
  account,
  browse,
  card,
  cardPath,
  DESKTOP,
  type Desk,
  list,
  openDesk,
  PHONE,
  toast,
  withBrowser,
} from './desk.ts';

withBrowser();

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

/** The guards of a popup pass the focus on; a menu that is open stands outside the landmarks, and has the focus. */
async function violations(page: Page, hasMenu = false): Promise<readonly string[]> {
  await page.evaluate(axe);
  const options = { rules: { region: { enabled: !hasMenu } }, selectors: false };
  const context = { include: [['html']], exclude: [['[data-base-ui-focus-guard]']] };
  const found = await page.evaluate<readonly Violation[]>(
    `axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

/** One of each: waiting, held, decided, completed. */
async function busyDesk(): Promise<{ readonly desk: Desk; readonly paths: readonly (readonly [string, string])[] }> {
  const desk = await openDesk();
  desk.ai.defineAgent({ name: `clerk-of-${'many-departments-'.repeat(6)}`, description: 'Its name is long.' });
  const decided = await desk.start([['pay', { to: 'Birch', amount: 700 }]]);
  const [old = ''] = await desk.waiting(decided);
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(old)}/decide`, {
    decision: { type: 'approve', edit: { to: 'Birch', amount: 650 } },
  });
  await desk.ai.runs.wait(decided, { until: 'end' });
  const runId = await desk.start([
    ['pay', { to: 'Northwind', amount: 500 }],
    ['askAddress', { question: 'Where shall it be sent?' }],
    [
      'publish',
      {
        title: 'Letter',
        sections: [
          { heading: 'One', words: 120 },
          { heading: 'Two', words: 80 },
        ],
      },
    ],
  ]);
  const [pay = '', address = '', publish = ''] = await desk.waiting(runId);
  await desk.as('grace')('POST', `/api/v1/requests/${encodeURIComponent(publish)}/assignee`, { forMs: 300_000 });
  return {
    desk,
    paths: [
      ['/', 'Inbox'],
      [cardPath(pay), 'Pay'],
      [cardPath(address), 'Where shall it be sent?'],
      [cardPath(publish), 'Publish'],
      [`/history/${encodeURIComponent(old)}`, 'Pay'],
      ['/runs', 'Runs'],
      [`/runs/${runId}`, 'Timeline'],
      [`/runs/${decided}`, 'Timeline'],
      ['/dashboard', 'Decisions per day'],
      ['/chat', 'Chat with an agent'],
      [`/chat/clerk/${runId}`, 'clerk'],
    ],
  };
}

// Both viewports and both colour schemes, once each: axe takes a second a page. On the phone, one page of each kind.
test.for([
  ['desktop, light', DESKTOP, 'light', []],
  ['phone, dark', PHONE, 'dark', [2, 3, 7, 9]],
] as const)('every page is free of axe violations and overflow: %s', async ([, viewport, colorScheme, similar]) => {
  const { desk, paths } = await busyDesk();
  const page = await browse(desk, 'ada', '/', { viewport, colorScheme });
  for (const [path, heading] of paths.filter((_, index) => !similar.some((skipped) => skipped === index))) {
    await page.goto(`${desk.url}${path}`);
    await page.getByRole('heading', { name: heading }).first().waitFor();
    expect([path, ...(await violations(page))]).toEqual([path]);
    const overhang = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect([path, overhang]).toEqual([path, 0]);
  }
});

test('forms, menus, the palette and the help pass axe too', async () => {
  const { desk, paths } = await busyDesk();
  const page = await browse(desk, 'ada', paths[1]?.[0], { colorScheme: 'dark' });
  await card(page).getByRole('button', { name: 'Edit' }).click();
  await card(page).getByLabel('amount').fill('5000');
  await card(page).getByRole('button', { name: 'Approve with these changes' }).click();
  await card(page).getByRole('alert').waitFor();
  expect(await violations(page)).toEqual([]);
  await card(page).getByRole('button', { name: 'Back' }).click();
  await card(page).getByRole('button', { name: 'Reject' }).click();
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Risk' }).click();
  await page.getByRole('menuitemradio', { name: 'High' }).waitFor();
  expect(await violations(page, true)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.getByRole('option').first().waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Search' }).waitFor({ state: 'hidden' });
  await account(page, 'Help');
  await page.getByRole('dialog', { name: 'Help' }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test.for([
  ['desktop, dark', DESKTOP, 'dark'],
  ['phone, light', PHONE, 'light'],
] as const)('deciding many, both lists and the history pass axe, and fit: %s', async ([, viewport, colorScheme]) => {
  const desk = await openDesk();
  await desk.start([
    ['pay', { to: 'Northwind', amount: 500 }],
    ['pay', { to: 'Birch', amount: 600 }],
  ]);
  const old = await desk.start([['pay', { to: 'Birch', amount: 700 }]]);
  const path = `/api/v1/requests/${encodeURIComponent((await desk.waiting(old))[0] ?? '')}/decide`;
  await desk.as('ada')('POST', path, { decision: { type: 'reject' } });
  const page = await browse(desk, 'ada', '/', { viewport, colorScheme });
  const check = async (what: string) => {
    const overhang = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect([what, ...(await violations(page)), await page.evaluate(overhang)]).toEqual([what, 0]);
  };
  await list(page).getByRole('button', { name: 'Decide together' }).click();
  await card(page).getByRole('heading', { name: '2 requests selected' }).waitFor();
  await check('many');
  await card(page).getByRole('button', { name: 'Approve 2' }).click();
  await card(page).getByText('Approve 2 requests?').waitFor();
  await check('second step');
  for (const [place, text] of [
    ['/?view=others', 'Nothing waits for others'],
    ['/history?age=dates&decidedBy=ada', 'Until'],
    ['/history?search=nothing', 'No matches'],
  ] as const) {
    await page.goto(`${desk.url}${place}`);
    await page.getByText(text).first().waitFor();
    await check(place);
  }
});

test('a phone shows one pane at a time, with the decisions in reach', async () => {
  const { desk } = await busyDesk();
  const page = await browse(desk, 'ada', '/', { viewport: PHONE, hasTouch: true });
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .tap();
  await card(page).getByRole('heading', { name: 'Pay', exact: true }).waitFor();
  expect(await list(page).isVisible()).toBe(false);
  const approve = card(page).getByRole('button', { name: 'Approve' });
  const box = await approve.boundingBox();
  expect(box && box.y + box.height).toBeGreaterThan(PHONE.height - 80);
  expect(box?.height).toBeGreaterThanOrEqual(44);
  // Scrolling keeps it in reach.
  await page.mouse.wheel(0, 2_000);
  expect((await approve.boundingBox())?.y).toBe(box?.y);
  await page.getByRole('button', { name: 'Back to the list' }).tap();
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .waitFor();
  expect(await card(page).isVisible()).toBe(false);
  await list(page)
    .getByRole('link', { name: /Pay 500/ })
    .tap();
  await approve.tap();
  await toast(page, 'approved', APPROVED).waitFor();
});

test('values that are nested deep stand on the card in view, in every width', async () => {
  const desk = await openDesk();
  const details = { part2: { part3: { part4: { part5: { amount: 90_000, to: 'an account of somebody' } } } } };
  const runId = await desk.start([['publish', { title: 'Hello', list: [{ details }] }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  const input = card(page).locator('[data-countersign="input"]');
  for (const width of [DESKTOP.width, 800, PHONE.width]) {
    await page.setViewportSize({ width, height: 900 });
    const frame = await input.boundingBox();
    const right = (frame?.x ?? 0) + (frame?.width ?? 0);
    for (const text of ['Hello', '90000', 'an account of somebody']) {
      const box = await input.getByText(text).boundingBox();
      expect([width, text, box && box.width > 20]).toEqual([width, text, true]);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(right);
    }
  }
});

test('on a phone a long choice has a separate line, and short ones share one', async () => {
  const desk = await openDesk();
  const long = 'A choice with a rather long text that goes on for more than one line on a phone';
  const runId = await desk.start([['choose', { question: 'Which?', choices: ['Small', 'Large', long] }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id), { viewport: PHONE, hasTouch: true });
  const box = (name: string) => card(page).getByRole('button', { name }).boundingBox();
  const [small, large, longer] = [await box('Small'), await box('Large'), await box(long)];
  expect(small?.y).toBe(large?.y);
  expect(longer?.y).toBeGreaterThan(small?.y ?? Number.POSITIVE_INFINITY);
  expect(longer?.width).toBeGreaterThan(300);
  expect((longer?.x ?? 0) + (longer?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
});

test('a card with an unknown outcome does not highlight running it again', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada');
  const change = { kind: 'doubt', allows: ['respond', 'approve', 'cancel'] };
  await page.route(/\/api\/v1\/requests\/[^/?]+$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), ...change } });
  });
  await page.goto(`${desk.url}${cardPath(id)}`);
  await card(page).getByText('Outcome unknown').waitFor();
  const look = (verb: string) => {
    const style = `getComputedStyle(document.querySelector('#card button[data-countersign="${verb}"]'))`;
    return page.evaluate<readonly string[]>(`[${style}.backgroundColor, ${style}.color]`);
  };
  const again = await look('approve');
  expect(again.join()).toContain('rgb');
  expect(again).toEqual(await look('respond'));
});

test('the help on a phone shows the user and the licences, and no keyboard shortcuts', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/', { viewport: PHONE, hasTouch: true });
  await account(page, 'Help');
  const help = page.getByRole('dialog', { name: 'Help' });
  await help.getByText('Signed in as').waitFor();
  expect(await help.textContent()).toContain('ada');
  expect(await help.getByText('Reject, with a reason').isVisible()).toBe(false);
  const box = await help.boundingBox();
  expect(box && [box.x >= 0, box.x + box.width <= PHONE.width]).toEqual([true, true]);
  const [licences] = await Promise.all([
    page.context().waitForEvent('page'),
    help.getByRole('link', { name: 'Open-source licences' }).tap(),
  ]);
  await licences.waitForLoadState();
  const text = (await licences.textContent('body')) ?? '';
  // Modules, their dependencies, and the styles; each with its licence text.
  for (const name of ['react', 'react-dom', 'scheduler', '@tanstack/query-core', 'lucide-react', 'tailwindcss', 'ai'])
    expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\([\\w.-]+\\)$`, 'm'));
  expect(text).toContain('Apache License');
  expect(text).toContain('Copyright (c) Meta Platforms, Inc. and affiliates.');
  await help.getByRole('button', { name: 'Close' }).tap();
  await help.waitFor({ state: 'hidden' });
});

test('light and dark follow the system until the user chooses', async () => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/', { colorScheme: 'dark' });
  const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  const dark = await background();
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await background();
  expect(light).not.toBe(dark);
  await account(page, 'Dark');
  expect(await background()).toBe(dark);
  await page.reload();
  await page.getByRole('button', { name: /^Account/ }).waitFor();
  expect(await background()).toBe(dark);
  await account(page, 'System colours');
  expect(await background()).toBe(light);
});

test('with forced system colours, the open row and the open page stand out', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay', { to: 'Northwind', amount: 500 }]]);
  await desk.start([['pay', { to: 'Lantern', amount: 600 }]]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  await page.emulateMedia({ forcedColors: 'active' });
  const look = (name: RegExp, property: string) =>
    page
      .getByRole('link', { name })
      .first()
      .evaluate(
        (link, property) => link.ownerDocument.defaultView?.getComputedStyle(link).getPropertyValue(property),
        property,
      );
  expect(await look(/Northwind/, 'border-left-color')).not.toBe(await look(/Lantern/, 'border-left-color'));
  expect(await look(/^Inbox/, 'text-decoration-line')).toBe('underline');
  expect(await look(/^History/, 'text-decoration-line')).toBe('none');
});

test('hostile input is shown as text and does nothing', async () => {
  const desk = await openDesk();
  const hostile = '<img src="https://evil.example/x.png" onerror="alert(1)"><script>alert(2)</script>';
  const input = {
    html: hostile,
    link: '[click](javascript:alert(3)) https://evil.example',
    direction: 'invoice\u202Efdp.exe',
    invisible: 'pay\u200Bpal',
    [hostile]: 'a name',
    constructor: { prototype: { polluted: true } },
    nested: { deep: [[[hostile]]] },
    long: 'x'.repeat(20_000),
  };
  const runId = await desk.start([['publish', input]], 'mallory');
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id));
  for (const path of [cardPath(id), `/runs/${runId}`, `/chat/clerk/${runId}`, '/']) {
    await page.goto(`${desk.url}${path}`);
    await page.getByText('publish').filter({ visible: true }).first().waitFor();
    expect(
      await page.locator('img:not([alt=""]), script:not([src]), a[href^="javascript"], a[href*="evil"]').count(),
    ).toBe(0);
  }
  await page.goto(`${desk.url}${cardPath(id)}`);
  await card(page).getByRole('button', { name: 'Approve' }).waitFor();
  const shown = (await card(page).textContent()) ?? '';
  expect(shown).toContain(hostile);
  expect(shown).toContain('U+202E');
  expect(shown).toContain('U+200B');
  expect(shown).not.toMatch(/[\u202E\u200B]/);
  await card(page).getByRole('button', { name: 'JSON' }).click();
  expect(await card(page).locator('pre').first().textContent()).toContain('U+202E');
  expect(await page.evaluate("'polluted' in {}")).toBe(false);
});

test('a tool name that the model made up hides nothing in the chat', async () => {
  const desk = await openDesk();
  const runId = await desk.start([['pay\u202E)005(', {}]]);
  const page = await browse(desk, 'ada', `/chat/clerk/${runId}`);
  const line = page.getByText('Tried').first();
  await line.waitFor();
  expect(await line.textContent()).toBe('Tried pay⟦U+202E⟧)005(');
});

test('a long tool name is shown in full in the conversation', async () => {
  const desk = await openDesk();
  const made = `made${'Up'.repeat(60)}`;
  const runId = await desk.start([
    [made, {}],
    ['pay', { to: 'Northwind', amount: 500 }],
  ]);
  const [id = ''] = await desk.waiting(runId);
  const page = await browse(desk, 'ada', cardPath(id), { viewport: PHONE });
  const name = card(page).locator('code').getByText(made).first();
  await name.waitFor();
  const box = await name.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
});

test.each([
  ['a desktop', { width: 1280, height: 560 }],
  ['a phone', { width: 390, height: 640 }],
])('in the chat on %s, nothing covers the field for the reason of a rejection', async (_what, viewport) => {
  const desk = await openDesk();
  const page = await browse(desk, 'ada', '/chat/assistant', { viewport });
  await page.getByRole('button', { name: 'Pay ACME 950 euros for invoice 7' }).click();
  await page.getByRole('button', { name: 'Reject' }).click();
  const field = page.getByLabel('Reason (optional)');
  await field.waitFor();
  const seen = () =>
    field.evaluate((input) => {
      const { left, top, bottom, width } = input.getBoundingClientRect();
      const points = [top + 3, (top + bottom) / 2, bottom - 3];
      // The page has the types of a browser, and this file those of Node.
      const at = (y: number) => (globalThis as any).document.elementFromPoint(left + width / 2, y);
      return points.map((y) => at(y) === input);
    });
  // The field has the focus, so the page has moved it into view.
  await expect.poll(seen).toEqual([true, true, true]);
  expect(await field.evaluate((input) => input === (globalThis as any).document.activeElement)).toBe(true);
});
