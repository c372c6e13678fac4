// Server-sent events: a response that is read at the pace of its client, and let go when the client is gone.

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

export type SseOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  /** What comes after the last event. */
  readonly last?: string;
  /** A sign of life is sent when nothing else was for so long. */
  readonly keepAliveMs: number;
  /** Called when the client has left: what the generator waits for, it waits for in vain. */
  readonly onLeft?: () => void;
};

/** Each value becomes one event. A client that leaves ends the generator. */
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
        // A client that does not even read these is not sent more of them.
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
