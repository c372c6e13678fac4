// The files of a preview: checked, and with the hash of their bytes.
import { FILE_TYPES, isFileType, type PreviewFile } from '../../core/request/file.ts';

/** More than this is not in the record, which every reader of the request loads: it has the hash, and the store keeps the bytes. */
const MOST_RECORDED = 300_000;
const MOST_KEPT = 20_000_000;
const MOST_FILES = 10;
const LONGEST_NAME = 200;

/** A file as a preview returns it. */
type GivenFile = { readonly name?: unknown; readonly mediaType?: unknown; readonly data?: unknown };

export type WithFiles = { readonly files: readonly GivenFile[]; readonly [name: string]: unknown };

/** Takes the files out of what a preview returned. Throws if one of them cannot be shown. Where nothing is stored, nothing is kept. */
export async function filesOf(
  { files: given, ...value }: WithFiles,
  keep: ((sha256: string, bytes: Uint8Array) => Promise<void>) | undefined,
): Promise<{ readonly value: unknown; readonly files: readonly PreviewFile[] }> {
  if (given.length > MOST_FILES) throw new Error(`it has more than ${MOST_FILES} files`);
  const most = keep ? MOST_KEPT : MOST_RECORDED;
  const files = await Promise.all(given.map((file) => readFile(file, most)));
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (size > most) throw new Error(`its files have more than ${most} bytes together`);
  const large = tooLarge(files, size);
  for (const { file, bytes } of large) await keep?.(file.sha256, bytes);
  return {
    value,
    files: files.map((one) => (large.has(one) ? one.file : { ...one.file, data: base64(one.bytes) })),
  };
}

/** The largest ones, so that the others fit into the record. */
function tooLarge(files: readonly ReadFile[], size: number): ReadonlySet<ReadFile> {
  const large = new Set<ReadFile>();
  let recorded = size;
  for (const one of files.toSorted((a, b) => b.bytes.length - a.bytes.length)) {
    if (recorded <= MOST_RECORDED) break;
    large.add(one);
    recorded -= one.bytes.length;
  }
  return large;
}

type ReadFile = { readonly file: PreviewFile; readonly bytes: Uint8Array };

async function readFile({ name, mediaType, data }: GivenFile, most: number): Promise<ReadFile> {
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || /[\p{Cc}\p{Cs}/\\]/u.test(name))
    throw new Error(`the name of a file must be 1 to ${LONGEST_NAME} characters without a path`);
  if (!isFileType(mediaType))
    throw new Error(`${name} has a mediaType that is not shown; use one of ${FILE_TYPES.join(', ')}`);
  const bytes = bytesOf(name, data, most);
  if (bytes.length > most) throw new Error(`${name} has more than ${most} bytes`);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { file: { name, mediaType, size: bytes.length, sha256 }, bytes };
}

function bytesOf(name: string, data: unknown, most: number): Uint8Array<ArrayBuffer> {
  if (data instanceof Uint8Array) return new Uint8Array(data);
  if (typeof data !== 'string') throw new Error(`the data of ${name} must be base64 or bytes`);
  if (data.length > 2 * most) throw new Error(`${name} has more than ${most} bytes`);
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
