// Reads the body of a request, with limits on its size, depth and duration.
import { UsageError } from '../../core/errors.ts';
import { MOST_VALUES } from '../../core/json.ts';

export type BodyLimits = {
  readonly maxBytes: number;
  /** How long the whole body may take to arrive. */
  readonly timeoutMs: number;
};

/** With the charset UTF-8, or none. */
const JSON_TYPE = /^application\/json *(; *charset *= *("utf-?8"|utf-?8) *)?$/i;

const MAX_DEPTH = 200;

/** Parses the body as JSON. Throws `too-large` or `invalid-request` without reading beyond the limit. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  // Browsers let other sites post forms with any other type without a preflight request.
  if (!JSON_TYPE.test(type))
    throw invalid(415, `The body must be application/json, not ${type === '' ? 'untyped' : JSON.stringify(type)}.`);
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw invalid(415, 'The body must not be compressed.');
  const text = decode(await readBytes(request, limits));
  refuseLarge(text);
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

/** Checked before parsing, which would use the stack, and before each value costs time. */
function refuseLarge(text: string): void {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      if (depth > MAX_DEPTH)
        throw new UsageError(
          'too-large',
          { status: 413, maxDepth: MAX_DEPTH },
          `The body is nested deeper than ${MAX_DEPTH} levels.`,
        );
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
    else if (code === COMMA || code === COLON) {
      values += 1;
      if (values > MOST_VALUES)
        throw new UsageError(
          'too-large',
          { status: 413, maxValues: MOST_VALUES },
          `The body has more than ${MOST_VALUES} values.`,
        );
    }
  }
}

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function invalid(status: number, message: string): UsageError {
  return new UsageError('invalid-request', { status }, message);
}

function tooLarge(maxBytes: number): UsageError {
  return new UsageError('too-large', { status: 413, maxBytes }, `The body is larger than ${maxBytes} bytes.`);
}
