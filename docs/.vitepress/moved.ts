// Pages that were merged into others. Their old addresses lead to the new ones.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The old address, without its ending, and the new one. */
export const MOVED: Readonly<Record<string, string>> = {
  'guides/authority': 'guides/rules.html#who-may-let-a-call-run',
  'guides/browser-notifications': 'guides/mail.html#browser-notifications',
  'guides/cli': 'reference/cli.html',
  'guides/confirm-and-restart': 'guides/questions.html#ask-in-the-middle-of-a-tool',
  'guides/crash-testing': 'guides/testing.html#crashes',
  'guides/create': 'tutorial.html#let-a-command-write-it',
  'guides/deadlines': 'guides/workers.html#deadlines-and-reminders',
  'guides/from-ai-sdk': 'guides/browser-chat.html#from-streamtext',
  'guides/from-genkit': 'reference/frameworks.html#from-genkit',
  'guides/genkit': 'reference/frameworks.html#genkit',
  'guides/langgraph': 'reference/frameworks.html#langgraph',
  'guides/mastra': 'reference/frameworks.html#mastra',
  'guides/mcp-inbox': 'guides/mcp.html#decide-in-an-mcp-client',
  'guides/mcp-tools': 'guides/mcp.html',
  'guides/nextjs': 'guides/browser-chat.html',
  'guides/openai-agents': 'reference/frameworks.html#openai-agents',
  'guides/prompts': 'guides/agents.html#prompts',
  'guides/react': 'reference/react.html',
  'guides/rolling-restarts': 'guides/workers.html#stop-cleanly',
  'guides/several-at-once': 'guides/hand-over.html#several-calls',
  'guides/steps': 'guides/surviving-crashes.html#step',
  'guides/stores': 'reference/stores.html',
  'guides/streaming': 'guides/generate.html#stream-a-run',
  'guides/structured-output': 'guides/generate.html#structured-output',
  'guides/teams-discord-pagerduty': 'guides/webhooks.html#teams-discord-and-pagerduty',
  'guides/types': 'guides/generate.html#types',
  'guides/words': 'guides/previews.html#words-on-a-card',
  'reference/large-inboxes': 'reference/store-operations.html#large-inboxes',
  'reference/limits': 'reference/runtimes.html#limits-of-the-server',
  'reference/notices': 'guides/notices.html',
  'reference/writing-a-store': 'reference/stores.html#write-a-store',
};

/** Writes a page for each old address that forwards the browser. */
export function writeMoved(folder: string): void {
  for (const [from, to] of Object.entries(MOVED)) {
    const file = join(folder, `${from}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, pageOf(`/${to}`));
  }
}

const pageOf = (address: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="refresh" content="0; url=${address}">
    <link rel="canonical" href="${address}">
    <title>Moved</title>
  </head>
  <body><p>This page has <a href="${address}">moved</a>.</p></body>
</html>
`;
