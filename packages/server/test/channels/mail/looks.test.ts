// How a mail looks: readable on a desktop and on a phone, in light and in dark, with nothing to load.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../../scripts/test-browser.mjs';
import { asked, LINKS, NEVER, openPostOffice } from './post-office.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

test('a mail fits the screen, passes axe in both colour schemes, and loads nothing', async () => {
  const office = await openPostOffice();
  const waiting = await asked({
    title: 'Pay €950 to ACME',
    input: {
      to: 'ACME',
      lines: [{ sku: 'A', text: 'long '.repeat(40) }],
      unbroken: 'x'.repeat(300),
      code: '<b>bold</b>',
    },
    asks: { message: 'Please check.', risk: 'high', expiresIn: 86_400_000 },
    reversibility: 'irreversible',
    preview: '+ one\n- two',
  });
  const large = await asked({ title: 'Import', input: { text: 'x'.repeat(200_000) }, asks: { risk: 'medium' } });
  const rejected = await asked({ title: 'Delete it' });
  await rejected.ai.runs.decide((await rejected.card()).id, { type: 'reject', reason: 'No.' }, { by: 'ben' });
  const notices = [await waiting.notice('opened'), await large.notice('opened'), await rejected.notice('decided')];
  await office.channel.digest(
    notices.map((notice) => ({ ...notice, links: LINKS })),
    NEVER,
  );
  const browser = await openBrowser();
  try {
    for (const [width, colorScheme] of [
      [700, 'light'],
      [375, 'dark'],
    ] as const) {
      const page = await browser.newPage({ viewport: { width, height: 600 }, colorScheme });
      const loaded: string[] = [];
      page.on('request', (request) => loaded.push(request.url()));
      await page.setContent(office.mails[0]?.html ?? '');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await page.evaluate(axe);
      // A mail is part of the page of a mail program, which has the landmarks.
      const rules = { 'landmark-one-main': { enabled: false }, region: { enabled: false } };
      const found = await page.evaluate(
        `axe.run(document, { rules: ${JSON.stringify(rules)} }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
      );
      expect(found).toEqual([]);
      expect(loaded).toEqual([]);
      await page.close();
    }
  } finally {
    await browser.close();
  }
});
