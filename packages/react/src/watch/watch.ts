// The watch on a stored run: server-sent events that tell when it came to rest, with reconnection.
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** The server's report on a run: now, and whenever it pauses or ends. */
export type WatchEvent = {
  readonly version: string | number;
  /** Of the run, such as `done`. */
  readonly status: string | undefined;
  /** The requests that wait. */
  readonly pending: ReadonlySet<string> | undefined;
  /** Of the model's current message. */
  readonly messageId: string | undefined;
};

export type WatchOptions = {
  /** Opens the stream of events. */
  readonly open: (signal: AbortSignal) => Promise<Response>;
  readonly onEvent: (event: WatchEvent) => void;
  /** Ends the watch. */
  readonly signal: AbortSignal;
};

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 2_000;

/** How long to wait before the next try, when so many had failed in a row before the last. */
export const pauseMs = (failures: number): number => Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);

/** Resolves when it was ended, or when the server will not have it. Never rejects. */
export async function watchRun({ open, onEvent, signal }: WatchOptions): Promise<void> {
  let failures = 0;
  // Who begins and ends at once, as React does in development, asks the server for nothing.
  await null;
  while (!signal.aborted) {
    try {
      const response = await open(signal);
      if (isFinal(response.status)) return;
      if (response.ok && response.body)
        for await (const event of eventsOf(response.body)) {
          failures = 0;
          if (!signal.aborted) onEvent(event);
        }
      else await response.body?.cancel();
    } catch {
      // The network is down or the watch was ended: the loop looks at the signal, and tries again if it may.
    }
    await pause(pauseMs(failures), signal);
    failures += 1;
  }
}

/** A run that does not exist yet (404) may exist soon. Other refusals are final. */
function isFinal(status: number): boolean {
  return status === 204 || (status >= 400 && status < 500 && ![404, 408, 425, 429].includes(status));
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<WatchEvent> {
  const text = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>);
  const reader = text.pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* eventIn(value.data);
    }
  } finally {
    reader.cancel().catch(() => {
      // It had failed or ended already.
    });
  }
}

function eventIn(data: string): readonly WatchEvent[] {
  try {
    const said: unknown = JSON.parse(data);
    if (typeof said !== 'object' || said === null) return [];
    const { version, status, pending, messageId } = said as { readonly [key: string]: unknown };
    if (typeof version !== 'string' && typeof version !== 'number') return [];
    return [{ version, status: textOf(status), pending: idsOf(pending), messageId: textOf(messageId) }];
  } catch {
    // Not one of ours; the next one may be.
    return [];
  }
}

const textOf = (said: unknown): string | undefined => (typeof said === 'string' ? said : undefined);

/** Of ids, or of cards. */
function idsOf(pending: unknown): ReadonlySet<string> | undefined {
  if (!Array.isArray(pending)) return undefined;
  return new Set(pending.map((entry) => String(typeof entry === 'object' && entry !== null ? entry.id : entry)));
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
