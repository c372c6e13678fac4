// The files of a preview: checked, and with the hash of their bytes.
import { FILE_TYPES, isFileType, type PreviewFile } from '../../core/request/file.ts';

/** The bytes are in the record of the run, which every reader of the request loads. */
const MOST_BYTES = 300_000;
const MOST_FILES = 10;
const LONGEST_NAME = 200;

/** A file as a preview returns it. */
type GivenFile = { readonly name?: unknown; readonly mediaType?: unknown; readonly data?: unknown };

export type WithFiles = { readonly files: readonly GivenFile[]; readonly [name: string]: unknown };

/** Takes the files out of what a preview returned. Throws if one of them cannot be shown. */
export async function filesOf({ files: given, ...value }: WithFiles): Promise<{
  readonly value: unknown;
  readonly files: readonly PreviewFile[];
}> {
  if (given.length > MOST_FILES) throw new Error(`it has more than ${MOST_FILES} files`);
  const files = await Promise.all(given.map(readFile));
  if (files.reduce((sum, { size }) => sum + size, 0) > MOST_BYTES)
    throw new Error(`its files have more than ${MOST_BYTES} bytes together`);
  return { value, files };
}

async function readFile({ name, mediaType, data }: GivenFile): Promise<PreviewFile> {
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || /[\p{Cc}\p{Cs}/\\]/u.test(name))
    throw new Error(`the name of a file must be 1 to ${LONGEST_NAME} characters without a path`);
  if (!isFileType(mediaType))
    throw new Error(`${name} has a mediaType that is not shown; use one of ${FILE_TYPES.join(', ')}`);
  const bytes = bytesOf(name, data);
  if (bytes.length > MOST_BYTES) throw new Error(`${name} has more than ${MOST_BYTES} bytes`);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { name, mediaType, size: bytes.length, sha256, data: base64(bytes) };
}

function bytesOf(name: string, data: unknown): Uint8Array<ArrayBuffer> {
  if (data instanceof Uint8Array) return new Uint8Array(data);
  if (typeof data !== 'string') throw new Error(`the data of ${name} must be base64 or bytes`);
  if (data.length > 2 * MOST_BYTES) throw new Error(`${name} has more than ${MOST_BYTES} bytes`);
  try {
    return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new Error(`the data of ${name} is not base64`, { cause });
  }
}

const CHUNK = 8_192;

/** Part by part: a function takes only so many arguments. */
function base64(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += CHUNK)
    text += String.fromCharCode(...bytes.subarray(from, from + CHUNK));
  return btoa(text);
}
