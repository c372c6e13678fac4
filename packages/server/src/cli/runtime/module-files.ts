// Files of the user that are written as modules, in a folder whose package.json says that its files are not, as `npm init`
// writes it, or says nothing: Node would refuse their first import, or warn each time that it had to find out.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What Node takes these for, where their package does not say that they are modules. */
const FORMATS: Readonly<Record<string, string>> = { '.ts': 'module-typescript', '.js': 'module' };

/** At the beginning of a line: no file that is none can have it there, since it is not in the language of those. */
const MODULE_SYNTAX =
  /^(?:import\s*(?:[\w*{'"]|type\b)|export\s+(?:[*{]|default\b|const\b|let\b|var\b|async\b|function\b|class\b|type\b|interface\b))/m;

let isRegistered = false;

/** From now on such files are loaded as what they are. */
export function loadModulesAsSuch(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    load(url, context, nextLoad) {
      const isModule = context.format && !context.format.startsWith('commonjs');
      const format = isModule ? undefined : moduleFormat(url);
      return nextLoad(url, format === undefined ? context : { ...context, format });
    },
  });
}

function moduleFormat(url: string): string | undefined {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return undefined;
  const path = fileURLToPath(url);
  const format = FORMATS[extname(path)];
  return format !== undefined && MODULE_SYNTAX.test(readFileSync(path, 'utf8')) ? format : undefined;
}
