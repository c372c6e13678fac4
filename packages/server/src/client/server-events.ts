// Reads server-sent events from a response.
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** One event as it stood on the wire. */
export type ReceivedEvent = EventSourceMessage & {
  /** How long to wait before resuming, in milliseconds. */
  readonly retry?: number | undefined;
};

/** Throws if one event has more characters than `most`. */
export async function* readServerEvents(
  body: ReadableStream<Uint8Array>,
  most?: number,
): AsyncGenerator<ReceivedEvent> {
  const read: ReceivedEvent[] = [];
  let retry: number | undefined;
  const parser = createParser({
    ...(most !== undefined && { maxBufferSize: most }),
    onRetry: (ms) => {
      retry = ms;
    },
    onEvent: (event) => {
      read.push({ ...event, retry });
      retry = undefined;
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* read.splice(0);
    }
  } finally {
    // Closes the connection when the caller stops reading.
    await reader.cancel().catch(() => undefined);
  }
}
