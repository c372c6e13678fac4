// Server-sent events: written at the pace of the client, and ended when it is gone. Hono's `streamSSE` does that too, but
// when the source fails it ends the response as if it were complete, and prints the error or sends it to the client; here
// the client notices that the stream broke off, and only the log has the error.

/** One event on the wire. */
export type ServerEvent = { readonly event: string; readonly data: unknown; readonly id?: number };

const SERVER_EVENTS = 'text/event-stream; charset=utf-8';

/** Sends each value as one event, and a comment every `keepAliveMs`. `open` gets a signal that fires when the client has left. */
export function eventStream(
  open: (signal: AbortSignal) => AsyncGenerator<ServerEvent>,
  request: Request,
  keepAliveMs: number,
): Response {
  const encoder = new TextEncoder();
  return streamOf(open, request, { keepAliveMs, encode: (event) => encoder.encode(written(event)) });
}

export type StreamOptions<T> = {
  readonly keepAliveMs: number;
  readonly encode: (value: T) => Uint8Array;
  /** Server-sent events by default. Other types get no comments. */
  readonly type?: string;
};

/** As `eventStream`, with another encoding. */
export function streamOf<T>(
  open: (signal: AbortSignal) => AsyncGenerator<T>,
  request: Request,
  { keepAliveMs, encode, type = SERVER_EVENTS }: StreamOptions<T>,
): Response {
  const encoder = new TextEncoder();
  const left = new AbortController();
  const events = open(AbortSignal.any([left.signal, request.signal]));
  let alive: ReturnType<typeof setInterval> | undefined;
  let upcoming: Promise<IteratorResult<T>> | undefined;
  const stop = () => {
    clearInterval(alive);
    left.abort();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Begins to listen before the client knows that it is connected, so that it misses nothing.
      upcoming = events.next();
      if (type !== SERVER_EVENTS) return;
      controller.enqueue(encoder.encode(': connected\n\n'));
      alive = setInterval(() => {
        // A client that does not read gets no more comments.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': keep-alive\n\n'));
      }, keepAliveMs);
      alive.unref();
    },
    async pull(controller) {
      try {
        const { done, value } = await (upcoming ?? events.next());
        upcoming = undefined;
        if (!done) return controller.enqueue(encode(value));
        stop();
        controller.close();
      } catch (error) {
        stop();
        controller.error(error);
      }
    },
    async cancel() {
      stop();
      await events.return(undefined);
    },
  });
  const headers = { 'content-type': type, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };
  return new Response(body, { headers });
}

function written({ event, data, id }: ServerEvent): string {
  // JSON has no line breaks, so one line holds it.
  const line = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  return id === undefined ? line : `id: ${id}\n${line}`;
}
