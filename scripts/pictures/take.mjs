// Takes one picture of docs/images, in Chromium.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../run.mjs';

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Sharp on any screen. `ready` may return a locator: then only that element is taken. */
export async function take(browser, name, url, viewport, colorScheme, ready, headers = {}) {
  const look = {
    viewport,
    colorScheme,
    deviceScaleFactor: viewport === PHONE ? 2 : 1.5,
    locale: 'en-US',
    reducedMotion: 'reduce',
    extraHTTPHeaders: headers,
  };
  const page = await browser.newPage(look);
  // The first page of the example is compiled first.
  page.setDefaultTimeout(180_000);
  await page.goto(url);
  const part = await ready(page);
  // Nothing moves and nothing has the focus.
  await page.evaluate(() => document.activeElement?.blur());
  await page.waitForTimeout(500);
  const path = join(root, 'docs/images', `${name}.png`);
  await (part ?? page).screenshot({ path });
  await page.close();
  shrink(path);
  console.log(`docs/images/${name}.png`);
}

/** To 256 colours, a third of the size, if pngquant is installed. */
function shrink(path) {
  spawnSync('pngquant', ['--force', '--skip-if-larger', '--strip', '--quality', '80-100', '--output', path, path]);
}
