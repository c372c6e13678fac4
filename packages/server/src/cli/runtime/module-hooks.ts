// Module hooks: treat the user's files as ES modules, and list which files were loaded.
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const FORMATS: Readonly<Record<string, string>> = { '.ts': 'module-typescript', '.js': 'module' };

/** At the start of a line, this is a syntax error in CommonJS. */
const MODULE_SYNTAX =
  /^(?:import\s*(?:[\w*{'"]|type\b)|export\s+(?:[*{]|default\b|const\b|let\b|var\b|async\b|function\b|class\b|type\b|interface\b))/m;

/** Bun has no hooks. It loads modules as they are written, and `dev` watches only the agents file there. */
const registerHooks: typeof module.registerHooks | undefined = module.registerHooks;

let isRegistered = false;

/** Loads files with `import` or `export` as modules, even if package.json says `commonjs`, as `npm init` writes it. */
export function loadEsModules(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks?.({
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

/** Starts tracking; the returned function lists the files loaded since, without packages. */
export function trackLoadedFiles(): () => readonly string[] {
  const files = new Set<string>();
  registerHooks?.({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      if (resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/'))
        files.add(fileURLToPath(resolved.url));
      return resolved;
    },
  });
  return () => [...files];
}
