// A real browser, signed in here, that opens a page of another server on the same machine: to browsers the same site.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { openBrowser } from '../../../../scripts/test-browser.mjs';
import { startServer } from '../server.ts';

/** A server of an attacker, which serves one page everywhere. */
async function otherServer(page: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}

test('a page of another server neither acts nor reads with the session of the browser', async () => {
  const target = await startServer({ dev: true });
  const teller = target.ai.agents.get('teller');
  const { id } = (await teller?.start('pay mallory 500', { by: 'dev' })) ?? { id: '' };
  const { pending } = await target.ai.runs.wait(id);
  const here = `http://localhost:${target.server.port}`;
  const decide = `${here}/api/v1/requests/${pending[0]}/decide`;
  const evil = await otherServer(`<!doctype html>
    <form id="form" method="post" enctype="text/plain" target="frame" action="${decide}">
      <input name='{"decision":{"type":"approve"},"note":"' value='"}'></form>
    <iframe name="frame"></iframe><iframe id="inbox" src="${here}/"></iframe>`);
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(target.server.loginUrl ?? '');
  expect(await page.evaluate(async () => (await fetch('/api/v1/me')).status)).toBe(200);
  const refusals: number[] = [];
  page.on('response', (response) => {
    if (response.url() === decide) refusals.push(response.status());
  });
  await page.goto(evil);
  const asked = page.waitForResponse(decide);
  await page.evaluate('document.getElementById("form").submit()');
  await asked;
  const outcomes = await page.evaluate(
    async ({ decide, here }) => {
      const tried: string[] = [];
      const body = '{"decision":{"type":"approve"}}';
      for (const [mode, type] of [
        ['cors', 'application/json'],
        ['no-cors', 'text/plain'],
      ] as const) {
        const headers = { 'content-type': type };
        const options = { method: 'POST', mode, credentials: 'include', headers, body } as const;
        tried.push(
          await fetch(decide, options).then(
            ({ type }) => type,
            () => 'refused',
          ),
        );
      }
      tried.push(
        await fetch(`${here}/api/v1/runs`, { credentials: 'include' }).then(
          () => 'read',
          () => 'refused',
        ),
      );
      return tried;
    },
    { decide, here },
  );
  expect(outcomes[0]).toBe('refused');
  expect(outcomes[2]).toBe('refused');
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals.every((status) => status >= 400)).toBe(true);
  // The inbox cannot be framed, which prevents clickjacking.
  const framed = page.frames().find((frame) => frame.parentFrame() && frame.url().startsWith(here));
  expect(framed).toBeUndefined();
  expect(target.paid).toEqual([]);
  expect((await target.ai.runs.get(id)).status).toBe('waiting');
}, 60_000);
