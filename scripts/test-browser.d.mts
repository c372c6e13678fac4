// The types of test-browser.mjs.
import type { Browser } from 'playwright-core';

export function openBrowser(): Promise<Browser>;
