// The types of test-browser.mjs, and of what the global setup provides to tests.
import type { Browser } from 'playwright-core';

declare module 'vitest' {
  interface ProvidedContext {
    /** The port of the PostgreSQL that all test files share; absent when a file runs by itself. */
    postgresPort?: number;
    /** The address of the browser that all test files share; absent when a file runs by itself. */
    browserEndpoint?: string;
  }
}

export function openBrowser(): Promise<Browser>;
