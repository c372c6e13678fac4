// The inbox: the files of the built app, and its page for every other path.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UsageError } from 'countersign';
import { methodNotAllowed } from '../http/methods.ts';
import { cardPage } from './card-page.ts';
import { htmlResponse } from './html.ts';
import { StaticFiles } from './static-files.ts';

export type Inbox = (path: string, request: Request) => Response;

/** Serves the inbox; with `directory: false` none. */
export function createInbox(directory: string | false | undefined, basePath: string): Inbox {
  const found = directory === false ? undefined : (directory ?? builtInbox());
  const files = found !== undefined && existsSync(found) ? new StaticFiles(found) : undefined;
  // The build names its files relative to the page, and the page is served at many paths.
  const index = files?.text('/index.html')?.replaceAll(/(src|href)="\.?\/(?=[^/])/g, `$1="${basePath}/`);
  return (path, request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed(request.method, ['GET', 'HEAD']);
    const name = decoded(path);
    const file = name === '/index.html' ? undefined : name && files?.answer(name, request);
    if (file) return file;
    if (name === undefined || (name !== '/index.html' && WOULD_BE_A_FILE.test(name)))
      throw new UsageError('not-found', { status: 404 }, 'Page not found.');
    return htmlResponse(index ?? notBuilt(basePath));
  };
}

/** Built files are at the top or below `assets`; in any other path a dot is part of an id. */
const WOULD_BE_A_FILE = /^\/(assets\/.*|[^/]*\.\w+)$/s;

/** Beside the code in the built package; the sources have none. */
function builtInbox(): string | undefined {
  for (const place of ['../inbox', '../../dist/inbox']) {
    const path = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(`${path}/index.html`)) return path;
  }
  return undefined;
}

/** Decodes once: a path that is encoded twice matches no file. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    // An invalid escape.
    return undefined;
  }
}

const notBuilt = (basePath: string): string =>
  cardPage(
    basePath,
    'The server is running',
    `<p>The inbox is not built here. In the repository, <code>npm run build -w @countersign/inbox</code> builds it.</p>
<p><a href="${basePath}/api/v1/docs">Read about the API</a></p>`,
  );
