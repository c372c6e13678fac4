// The inbox with very many requests: the page stays small, and a burst of them is read a few times.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, card, type Desk, list, openDesk, PATIENT, withBrowser } from './desk.ts';

withBrowser();

/** Starts runs that ask, many at once. Requests with other amounts are not alike. */
async function ask(desk: Desk, count: number, first: number): Promise<void> {
  const amounts = Array.from({ length: count }, (_, index) => first + index);
  const starting = Array.from({ length: 20 }, async () => {
    for (let amount = amounts.shift(); amount !== undefined; amount = amounts.shift()) {
      const prompt = JSON.stringify([['publish', { [`number-${amount}`]: amount }]]);
      const { status } = await desk.as('ada')('POST', '/api/v1/runs', { agent: 'clerk', prompt });
      expect(status).toBe(201);
    }
  });
  await Promise.all(starting);
}

const rows = (page: Page) => page.locator('[data-row]').count();

test('a burst of requests is read a few times, and the page goes on drawing', async () => {
  const desk = await openDesk();
  await ask(desk, 60, 1);
  const page = await browse(desk, 'ada');
  await list(page).getByRole('link').nth(40).waitFor();
  let reads = 0;
  page.on('request', (request) => {
    if (/\/api\/v1\/requests\?/.test(request.url())) reads += 1;
  });
  await page.evaluate(DRAWING);
  await ask(desk, 400, 100);
  await expect.poll(async () => (await desk.as('ada')('GET', '/api/v1/stats')).body.waiting, PATIENT).toBe(460);
  const { frames, longestMs } = await page.evaluate<{ frames: number; longestMs: number }>('window.drawing()');
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThan(100);
  expect(frames).toBeGreaterThan(20);
  // Very generous: the machine may be busy.
  expect(longestMs).toBeLessThan(5_000);
  expect(await rows(page)).toBeLessThanOrEqual(60);
});

test('of a long list only what is around the view is in the page', async () => {
  const desk = await openDesk();
  await ask(desk, 260, 1);
  const page = await browse(desk, 'ada');
  // The number is exact from the beginning.
  await list(page).getByText('260 waiting').waitFor();
  const loadMore = page.getByRole('button', { name: 'Load more' });
  let pages = 0;
  page.on('response', (response) => {
    if (/[?&]cursor=/.test(response.url())) pages += 1;
  });
  // A click on a button that is just replaced does nothing.
  const next = async (before: number) => {
    if (pages === before && (await loadMore.isEnabled().catch(() => false)))
      await loadMore.click().catch(() => undefined);
    return pages;
  };
  for (let loaded = 50; loaded < 260; loaded += 50) {
    // A second click may have loaded two pages at once.
    if (!(await loadMore.isVisible())) break;
    const before = pages;
    await expect.poll(() => next(before), { timeout: 90_000 }).toBeGreaterThan(before);
    await page.getByText('Loading…').waitFor({ state: 'hidden' });
    expect(await rows(page)).toBeLessThanOrEqual(150);
  }
  await loadMore.waitFor({ state: 'hidden' });

  // The places say how long the list is.
  const places = () =>
    page
      .locator('li[aria-posinset]')
      .evaluateAll((items) => items.map((item) => [item.ariaPosInSet, item.ariaSetSize].map(Number)));
  const scrollTo = (top: number) =>
    page.locator('[data-scroll=list]').evaluate((element, to) => element.scrollTo({ top: to }), top);
  await scrollTo(0);
  await expect.poll(async () => (await places())[0], PATIENT).toEqual([1, 260]);
  const seen = new Set<number>();
  for (let top = 0; top < 260 * 120; top += 600) {
    await scrollTo(top);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    const rendered = await places();
    expect(rendered.length).toBeLessThanOrEqual(150);
    for (const [place = 0] of rendered) seen.add(place);
  }
  expect(seen.size).toBe(260);

  // The keyboard reaches a row that is not in the page: the one after the open request, far above.
  expect((await places()).some(([place]) => place === 2)).toBe(false);
  await page.keyboard.press('j');
  await expect
    .poll(() => page.evaluate<string>('document.activeElement.parentElement.ariaPosInSet'), PATIENT)
    .toBe('2');
  await card(page).getByText('number-2', { exact: true }).first().waitFor();
  // A selection outlives its rows.
  await page.keyboard.press('x');
  await scrollTo(260 * 120);
  await expect.poll(async () => (await places()).some(([place]) => place === 2), PATIENT).toBe(false);
  await scrollTo(0);
  await expect.poll(() => list(page).getByRole('checkbox', { checked: true }).count(), PATIENT).toBe(1);
});

/** Counts frames, and the longest pause between two. */
const DRAWING = `
  let [frames, last, longestMs] = [0, performance.now(), 0];
  const draw = (now) => {
    frames += 1;
    longestMs = Math.max(longestMs, now - last);
    last = now;
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
  window.drawing = () => ({ frames, longestMs });
`;
