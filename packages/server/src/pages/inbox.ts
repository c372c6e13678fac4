// The inbox: the files of the built app, and its page for every address that is no file.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UsageError } from 'countersign';
import { htmlResponse, page } from './html.ts';
import { StaticFiles } from './static-files.ts';

export type Inbox = (path: string, request: Request) => Response;

/** `directory: false`: there is none. */
export function createInbox(directory: string | false | undefined, basePath: string): Inbox {
  const found = directory === false ? undefined : (directory ?? builtInbox());
  const files = found !== undefined && existsSync(found) ? new StaticFiles(found) : undefined;
  // The build names its files relative to the page, and the page stands at many addresses.
  const index = files?.text('/index.html')?.replaceAll(/(src|href)="\.?\/(?=[^/])/g, `$1="${basePath}/`);
  return (path, request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new UsageError(
        'method-not-allowed',
        { status: 405, headers: { allow: 'GET, HEAD' } },
        `${request.method} is not for this address.`,
      );
    const name = decoded(path);
    const file = name === '/index.html' ? undefined : name && files?.answer(name, request);
    if (file) return file;
    if (name === undefined || (name !== '/index.html' && WOULD_BE_A_FILE.test(name)))
      throw new UsageError('not-found', { status: 404 }, 'There is nothing at this address.');
    return htmlResponse(index ?? NOT_BUILT);
  };
}

/** What the build makes stands at the top or below `assets`; anywhere else a dot belongs to an id. */
const WOULD_BE_A_FILE = /^\/(assets\/.*|[^/]*\.\w+)$/s;

/** Beside the code once the package is built; in the sources there is none. */
function builtInbox(): string | undefined {
  for (const place of ['../inbox', '../../dist/inbox']) {
    const path = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(`${path}/index.html`)) return path;
  }
  return undefined;
}

/** Decoded once: what is encoded twice names nothing. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign that stands for nothing.
    return undefined;
  }
}

const NOT_BUILT = page(
  'Countersign',
  `<h1>The server runs</h1>
<p>The inbox is not built here. In the repository, <code>npm run build -w @countersign/inbox</code> builds it.</p>
<p>The API is described at <a href="api/v1/docs">api/v1/docs</a>.</p>`,
);
