// Checks that a request comes from Slack: its signature, its age, and that it was not sent before.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { limitedBody } from '../../http/limited-body.ts';

/** Slack asks for this window. */
const WINDOW_MS = 5 * 60 * 1_000;
const MOST_BYTES = 1_000_000;
/** More signatures are not remembered. A decision that arrives twice is still recorded once. */
const MOST_REMEMBERED = 10_000;

export type Checked = { readonly body: string } | { readonly status: 401 | 405 | 413 };

/** Several secrets are accepted while one replaces another. */
export function requestCheck(secrets: readonly string[]): (request: Request) => Promise<Checked> {
  /** When each signature was taken. */
  const taken = new Map<string, number>();
  return async (request) => {
    if (request.method !== 'POST') return { status: 405 };
    const signature = request.headers.get('x-slack-signature') ?? '';
    const timestamp = request.headers.get('x-slack-request-timestamp') ?? '';
    if (!isRecent(timestamp)) return { status: 401 };
    const isLarge = Number(request.headers.get('content-length') ?? 0) > MOST_BYTES;
    const bytes = isLarge ? undefined : await limitedBody(request, MOST_BYTES);
    if (bytes === undefined) return { status: 413 };
    if (!secrets.some((secret) => isSigned(secret, timestamp, bytes, signature))) return { status: 401 };
    if (taken.has(signature)) return { status: 401 };
    forgetOld(taken);
    taken.set(signature, Date.now());
    return { body: bytes.toString('utf8') };
  };
}

const isRecent = (timestamp: string): boolean =>
  /^\d{1,12}$/.test(timestamp) && Math.abs(Date.now() - Number(timestamp) * 1_000) <= WINDOW_MS;

function isSigned(secret: string, timestamp: string, body: Buffer, signature: string): boolean {
  const expected = createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest();
  const given = Buffer.from(/^v0=([\da-f]{64})$/.exec(signature)?.[1] ?? '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Entries are in the order of their creation. A signature may be valid for twice the window, if Slack's clock is ahead. */
function forgetOld(taken: Map<string, number>): void {
  for (const [signature, at] of taken) {
    if (taken.size < MOST_REMEMBERED && Date.now() - at <= 2 * WINDOW_MS) return;
    taken.delete(signature);
  }
}
