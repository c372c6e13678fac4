// The engine in the page of the playground: its sources, and a file of ours for what they take from Node.
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const SOURCES = file('../../packages/countersign/src/');

const ENTRIES: Readonly<Record<string, string>> = {
  countersign: `${SOURCES}index.ts`,
  'countersign/request': `${SOURCES}request.ts`,
  // The other names of this entry point need Node.
  'countersign/testing': `${SOURCES}testing/scripted-model.ts`,
};

/** What the engine loads when an application needs it first. The playground never does. */
const LATER =
  /^(\.\/(prompt-folder|business-hours)\.ts|dotprompt|handlebars\/.*|yaml|temporal-polyfill|@simplewebauthn\/server)$/;
const NOTHING = '\0nothing';

export const engineOfThePlayground: Plugin = {
  name: 'engine-of-the-playground',
  enforce: 'pre',
  resolveId(id, importer) {
    const isInPage = this.environment.name === 'client' && importer?.startsWith(SOURCES);
    if (!isInPage) return ENTRIES[id];
    return LATER.test(id) ? NOTHING : id.startsWith('node:') ? file('theme/playground/node.ts') : undefined;
  },
  load: (id) => (id === NOTHING ? 'export {};' : undefined),
};
