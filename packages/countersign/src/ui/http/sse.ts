// Writes server-sent events: a response that follows the pace of its client and ends when the client disconnects. A source that
// fails breaks the response off, so that the client notices.

/** One event on the wire. No value has a line break. */
export type SseEvent = {
  readonly data: string;
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  /** How long the client waits before it resumes, in milliseconds. */
  readonly retry?: number | undefined;
};

export function sseBytes({ event, id, retry, data }: SseEvent): Uint8Array {
  const fields = Object.entries({ event, id, retry, data }).filter(([, value]) => value !== undefined);
  return encoder.encode(`${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`);
}

export type SseOptions<T = unknown> = {
  readonly headers?: Readonly<Record<string, string>>;
  /** The event that a value is; by default its JSON without a name. */
  readonly eventOf?: (value: T) => SseEvent;
  /** The data of one more event after the last value. */
  readonly last?: string;
  /** Begins with a comment, so that the client knows at once that it is connected. */
  readonly announced?: boolean;
  /** The interval of the keep-alive comments. */
  readonly keepAliveMs: number;
  /** Called when the client disconnects, so that the generator stops waiting. */
  readonly onLeft?: () => void;
};

/** A connection in between neither stores the stream, nor changes it, nor holds it back. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

const encoder = new TextEncoder();

/** Sends each value as one event. The generator ends when the client disconnects. */
export function sseResponse<T>(events: AsyncGenerator<T>, options: SseOptions<T>): Response {
  const { headers, last, announced = false, keepAliveMs, onLeft } = options;
  const { eventOf = (value: T) => ({ data: JSON.stringify(value) }) } = options;
  let timer: ReturnType<typeof setInterval> | undefined;
  let upcoming: Promise<IteratorResult<T>> | undefined;
  const stop = () => clearInterval(timer);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Begins to listen before the client knows that it is connected, so that it misses nothing.
      upcoming = events.next();
      // `pull` awaits it, and sees why it failed.
      upcoming.catch(() => undefined);
      if (announced) controller.enqueue(encoder.encode(': connected\n\n'));
      timer = setInterval(() => {
        // A client that does not read gets no more of them.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': keep-alive\n\n'));
      }, keepAliveMs);
      // Node's timers keep a process alive; those of browsers and other runtimes are numbers.
      if (typeof timer === 'object') timer.unref();
    },
    async pull(controller) {
      try {
        const { done, value } = await (upcoming ?? events.next());
        upcoming = undefined;
        if (!done) return controller.enqueue(sseBytes(eventOf(value)));
        if (last !== undefined) controller.enqueue(sseBytes({ data: last }));
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
      await events.return(undefined as T);
    },
  });
  return new Response(body, { headers: { ...SSE_HEADERS, ...headers } });
}

/** Not every platform aborts the request when the client disconnects. */
export function untilLeft(request: Request): { readonly signal: AbortSignal; readonly onLeft: () => void } {
  const left = new AbortController();
  const signal = AbortSignal.any([request.signal, left.signal]);
  kept.set(signal, request);
  return { signal, onLeft: () => left.abort() };
}

/** A garbage-collected request never aborts its signal, so the request lives as long as the combined signal. */
const kept = new WeakMap<AbortSignal, Request>();
