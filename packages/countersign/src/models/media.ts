// Media: what the conversation keeps as a URL and a provider takes or gives as a file.
import { UsageError } from '../core/errors.ts';
import type { MediaPart } from '../core/messages/message.ts';
import type { FileData, FilePart, SpecificationVersion } from './specification.ts';

/** The file that a media part stands for. */
export function fileOf(
  { url, contentType }: MediaPart['media'],
  version: SpecificationVersion,
): { readonly mediaType: string; readonly data: FileData } {
  const embedded = DATA_URL.exec(url);
  if (embedded) {
    const [, type, encoding, body = ''] = embedded;
    const data = encoding ? body : Buffer.from(percentDecoded(body)).toString('base64');
    return { mediaType: contentType ?? (type || 'text/plain'), data: version === 'v4' ? { type: 'data', data } : data };
  }
  const link = linkOf(url);
  return {
    mediaType: contentType ?? typeByEnding(link.pathname),
    data: version === 'v4' ? { type: 'url', url: link } : link,
  };
}

/** The URL under which the conversation keeps a file that a model made; bytes are embedded in it. */
export function urlOf({ mediaType, data }: Pick<FilePart, 'mediaType' | 'data'>): string {
  if (typeof data === 'string' || data instanceof Uint8Array) return `data:${mediaType};base64,${base64(data)}`;
  return data.url === undefined ? `data:${mediaType};base64,${base64(data.data ?? '')}` : String(data.url);
}

const DATA_URL = /^data:([^,;]*)(?:;(?!base64,)[^,;]*)*(;base64)?,(.*)$/s;

const base64 = (data: string | Uint8Array): string =>
  typeof data === 'string' ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');

/** A `%` that is not an escape stays unchanged. */
function percentDecoded(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (escapes) => Buffer.from(escapes.replaceAll('%', ''), 'hex').toString());
}

function linkOf(url: string): URL {
  if (URL.canParse(url)) return new URL(url);
  throw new UsageError(
    'invalid-history',
    { url },
    `A media part has "${url}", which is not a URL. Pass a data: or http URL.`,
  );
}

/** Providers need a media type; most media without one are images. */
function typeByEnding(path: string): string {
  return TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase()) ?? 'image/*';
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
  ['mp4', 'video/mp4'],
]);
