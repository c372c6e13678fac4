// The body of a request, read with limits: how much, how deep, how slowly.
import { UsageError } from '../../core/errors.ts';

export type BodyLimits = {
  readonly maxBytes: number;
  /** How long the whole body may take to arrive. */
  readonly timeoutMs: number;
};

/** In UTF-8, whether it says so or not. */
const JSON_TYPE = /^application\/json *(; *charset *= *("utf-?8"|utf-?8) *)?$/i;

/** How deep JSON may be nested. */
const MAX_DEPTH = 200;

/** The body as JSON. Throws `too-large` or `invalid-request`, and has then read no more than the limit. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  // A form of another site can post anything but this without asking first.
  if (!JSON_TYPE.test(type))
    throw invalid(415, `The body must be application/json, not ${type === '' ? 'unnamed' : JSON.stringify(type)}.`);
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw invalid(415, 'The body must not be compressed.');
  const text = decode(await readBytes(request, limits));
  refuseDeep(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError('invalid-request', { status: 400 }, 'The body is no JSON.', { cause });
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
    // Whoever sends too much, or too slowly, is not listened to any more.
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks, size);
}

/** Whoever sends it has left, or their connection: nothing that could be mended here. */
function brokeOff(cause: unknown): never {
  throw new UsageError('invalid-request', { status: 400 }, 'The body broke off before its end.', { cause });
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError('invalid-request', { status: 400 }, 'The body is not UTF-8.', { cause });
  }
}

/** Before it is parsed: what is nested too deeply is not worth the stack. */
function refuseDeep(text: string): void {
  let depth = 0;
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
  }
}

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
