// Server-sent events: read at the pace of the client, and ended when it is gone.

/** One event on the wire. */
export type ServerEvent = { readonly event: string; readonly data: unknown; readonly id?: number };

export type StreamOptions = {
  /** A sign of life is sent when nothing else was for so long. */
  readonly keepAliveMs: number;
};

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** Each value becomes one event. `open` is given a signal that fires when the client has left. */
export function eventStream(
  open: (signal: AbortSignal) => AsyncGenerator<ServerEvent>,
  request: Request,
  { keepAliveMs }: StreamOptions,
): Response {
  const encoder = new TextEncoder();
  const left = new AbortController();
  const events = open(AbortSignal.any([left.signal, request.signal]));
  let alive: ReturnType<typeof setInterval> | undefined;
  let upcoming: Promise<IteratorResult<ServerEvent>> | undefined;
  const stop = () => {
    clearInterval(alive);
    left.abort();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // The first byte tells the client that it is connected: from here on it misses nothing.
      upcoming = events.next();
      controller.enqueue(encoder.encode(': connected\n\n'));
      alive = setInterval(() => {
        // A client that does not even read these is not sent more of them.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': keep-alive\n\n'));
      }, keepAliveMs);
      alive.unref();
    },
    async pull(controller) {
      try {
        const { done, value } = await (upcoming ?? events.next());
        upcoming = undefined;
        if (!done) return controller.enqueue(encoder.encode(written(value)));
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
  return new Response(body, { headers: HEADERS });
}

function written({ event, data, id }: ServerEvent): string {
  // JSON has no line breaks of its own, so that one line holds it.
  const line = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  return id === undefined ? line : `id: ${id}\n${line}`;
}
