// Finds faults of a page: axe violations and horizontal overflow.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

export function faultsOf(page: Page): Promise<readonly string[]> {
  return page.evaluate(async (source) => {
    if (!('axe' in window)) new Function(source)();
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: readonly Violation[] }> } };
    const { violations } = await axe.run();
    const excess = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    return [
      ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`),
      ...(excess > 0 ? [`${excess} pixels too wide`] : []),
    ];
  }, axe);
}
