// Static files: listed once and looked up by exact name, so that no path can lead outside the folder.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { getMimeType } from 'hono/utils/mime';

type File = {
  readonly path: string;
  readonly type: string;
  content?: { readonly bytes: Uint8Array; readonly etag: string };
};

export class StaticFiles {
  readonly #files = new Map<string, File>();

  constructor(directory: string) {
    for (const path of filesIn(directory)) {
      const name = `/${relative(directory, path).split(sep).join('/')}`;
      const type = getMimeType(path.toLowerCase());
      if (type) this.#files.set(name, { path, type });
    }
  }

  /** `name` is the path of the URL, decoded once; undefined if no such file exists. */
  answer(name: string, request: Request): Response | undefined {
    const file = this.#files.get(name);
    if (!file) return undefined;
    file.content ??= read(file.path);
    const { bytes, etag } = file.content;
    const headers = { 'content-type': file.type, etag, 'cache-control': cacheControl(name) };
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
    return new Response(bytes as Uint8Array<ArrayBuffer>, { headers });
  }

  /** The text of a file. */
  text(name: string): string | undefined {
    const file = this.#files.get(name);
    return file && readFileSync(file.path, 'utf8');
  }
}

function read(path: string): { readonly bytes: Uint8Array; readonly etag: string } {
  const bytes = readFileSync(path);
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** Skips symbolic links, which may lead outside the folder, and hidden files. */
function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.name.startsWith('.')) return [];
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Names of built assets change with their content. */
function cacheControl(name: string): string {
  return name.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
}
