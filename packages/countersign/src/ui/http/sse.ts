// Server-sent events: a response that follows the pace of its client and ends when the client disconnects.

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

export type SseOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent after the last event. */
  readonly last?: string;
  /** The interval of the keep-alive comments. */
  readonly keepAliveMs: number;
  /** Called when the client disconnects, so that the generator stops waiting. */
  readonly onLeft?: () => void;
};

/** Sends each value as one event. The generator ends when the client disconnects. */
export function sseResponse(
  events: AsyncGenerator<unknown>,
  { headers, last, keepAliveMs, onLeft }: SseOptions,
): Response {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = () => clearInterval(timer);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        // A client that does not read gets no more of them.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': keep-alive\n\n'));
      }, keepAliveMs);
    },
    async pull(controller) {
      try {
        const { done, value } = await events.next();
        if (!done) return controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
        if (last !== undefined) controller.enqueue(encoder.encode(`data: ${last}\n\n`));
        stop();
        controller.close();
      } catch (error) {
        stop();
        controller.error(error);
      }
    },
    async cancel() {
      stop();
      onLeft?.();
      await events.return(undefined);
    },
  });
  return new Response(body, { headers: { ...HEADERS, ...headers } });
}
