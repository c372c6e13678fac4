// A plain page with the custom elements, as npm publishes them: one file, no React, no bundler, a strict content security policy.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RequestCard } from 'countersign/ui';
import type { Page } from 'playwright-core';
import { bundleElements } from '../scripts/bundle-elements.ts';
import type { Files } from './site.ts';

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>A plain page</title>
    <link rel="stylesheet" href="/page.css">
    <script type="module" src="/page.js"></script>
  </head>
  <body><main><h1>A plain page</h1><div id="place"></div></main></body>
</html>`;

const STYLES = `
body { margin: 0; padding: 1rem; background: light-dark(#fafafa, #0b0b0c); color: light-dark(#18181b, #f4f4f5); font-family: sans-serif; }
:root { color-scheme: light dark; }
countersign-card + countersign-card { margin-top: 1rem; }`;

/** The page answers each decision with the card that \`window.answer\` gives, and notes what was asked. */
const SCRIPT = `
window.decisions = [];
window.changes = [];
window.violations = [];
window.answer = async (posted, card) => ({ ...card, status: 'decided', decision: { ...posted.decision, by: 'ann', at: 1763193600000, channel: 'page', note: null } });
document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective));
document.addEventListener('countersign-decide', (event) => {
  window.decisions.push(event.detail);
  if (window.answer) event.respondWith(window.answer(event.detail, event.target.request));
});
document.addEventListener('countersign-change', ({ detail }) => window.changes.push(detail.requests.map(({ id }) => id)));
window.load = () => import('/elements.js');
window.show = () => {};`;

declare global {
  interface Window {
    decisions: any[];
    changes: string[][];
    violations: string[];
    answer: ((posted: any, card: RequestCard) => Promise<unknown>) | undefined;
    load(): Promise<any>;
    /** Answers the decision that a test holds back. */
    release(problem?: string): void;
  }
}

export async function elementsFiles(): Promise<Files> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-elements-'));
  try {
    await bundleElements(folder);
    return new Map([
      ['/index.html', { type: 'text/html; charset=utf-8', content: PAGE }],
      ['/page.css', { type: 'text/css', content: STYLES }],
      ['/page.js', { type: 'text/javascript', content: SCRIPT }],
      ['/elements.js', { type: 'text/javascript', content: readFileSync(join(folder, 'index.js'), 'utf8') }],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Shows a card for each request, with these attributes. */
export async function showCards(
  page: Page,
  requests: readonly object[],
  attributes: Readonly<Record<string, string>> = {},
): Promise<void> {
  await page.evaluate(
    async ([requests, attributes]) => {
      await window.load();
      document.getElementById('place')?.replaceChildren(
        ...requests.map((request) => {
          const element = document.createElement('countersign-card');
          for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
          return Object.assign(element, { request });
        }),
      );
    },
    [requests, attributes] as const,
  );
  await page.locator('countersign-card [data-countersign]').first().waitFor();
}
