// Reads the body of a request, with limits on its size, depth and duration, and refuses a key that occurs twice.
import { UsageError } from '../../core/errors.ts';
import { MOST_VALUES } from '../../core/json.ts';
import { faultInJson } from '../../core/json-text.ts';

export type BodyLimits = {
  readonly maxBytes: number;
  /** How long the whole body may take to arrive. */
  readonly timeoutMs: number;
  /** How many values it may have; 20,000 by default. A field counts twice, for its name and its value. */
  readonly maxValues?: number;
};

/** With the charset UTF-8, or none. */
const JSON_TYPE = /^application\/json *(; *charset *= *("utf-?8"|utf-?8) *)?$/i;

const MAX_DEPTH = 200;

/** Reading so many characters takes some milliseconds. */
const LONG = 100_000;

/** Parses the body as JSON. Throws `too-large` or `invalid-request` without reading beyond the limit. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  // Browsers let other sites post forms with any other type without a preflight request.
  if (!JSON_TYPE.test(type))
    throw invalid(415, `The body must be application/json, not ${type === '' ? 'untyped' : JSON.stringify(type)}.`);
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw invalid(415, 'The body must not be compressed.');
  const text = decode(await readBytes(request, limits));
  refuseFaulty(text, limits.maxValues ?? MOST_VALUES);
  // Other requests have their turn before the work with it begins.
  if (text.length > LONG) await new Promise((resolve) => setTimeout(resolve));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError('invalid-request', { status: 400 }, 'The body is not JSON.', { cause });
  }
}

async function readBytes(request: Request, { maxBytes, timeoutMs }: BodyLimits): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const reader = request.body?.getReader();
  if (!reader) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = invalid(408, `The body did not arrive within ${timeoutMs} ms.`);
    timer = setTimeout(() => reject(error), timeoutMs);
  });
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read().catch(brokeOff), late]);
      if (done) break;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
    }
  } catch (error) {
    // The rest of a body that is too large or too slow is not read.
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks, size);
}

function brokeOff(cause: unknown): never {
  throw new UsageError('invalid-request', { status: 400 }, 'The body ended early.', { cause });
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError('invalid-request', { status: 400 }, 'The body is not UTF-8.', { cause });
  }
}

/**
 * Checked before parsing, which would use the stack and the time, and which keeps the last of two values of a key: another reader
 * of the same bytes, such as a firewall, may keep the first.
 */
function refuseFaulty(text: string, maxValues: number): void {
  const fault = faultInJson(text, { depth: MAX_DEPTH, values: maxValues });
  if (!fault) return;
  const message = `The body is refused: ${fault.problem}.`;
  if (fault.kind === 'key') throw invalid(400, message);
  throw new UsageError('too-large', { status: 413, maxDepth: MAX_DEPTH, maxValues }, message);
}

function invalid(status: number, message: string): UsageError {
  return new UsageError('invalid-request', { status }, message);
}

function tooLarge(maxBytes: number): UsageError {
  return new UsageError('too-large', { status: 413, maxBytes }, `The body is larger than ${maxBytes} bytes.`);
}
