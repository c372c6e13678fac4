// The types of chromium.mjs, for the tests that open a browser.
export function chromiumPath(): string;
export function quickChromiumPath(): string;
