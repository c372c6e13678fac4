// Loads Countersign from its sources, whichever file asks for it: Node strips the types. Import this first.
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const SOURCES = path.join(import.meta.dirname, '../../packages/countersign/src');
const ENTRIES = {
  countersign: 'index.ts',
  'countersign/store': 'store.ts',
  'countersign/sqlite': 'stores/sqlite/sqlite.ts',
  'countersign/postgres': 'stores/postgres/postgres.ts',
  'countersign/ui': 'ui/index.ts',
};

registerHooks({
  resolve: (specifier, context, next) =>
    Object.hasOwn(ENTRIES, specifier)
      ? { url: urlOf(ENTRIES[specifier]), format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});

function urlOf(file) {
  return pathToFileURL(path.join(SOURCES, file)).href;
}

/** Whether a script is one of ours. */
export const isOurs = (url) => url.startsWith(urlOf(''));
