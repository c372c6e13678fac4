// A fetch that reports whether the server responds, and never waits forever.

/** Streams send a keep-alive every 15 seconds, so one that is silent for this long is dead. */
const SILENCE_MS = 60_000;
/** How long a response may take to start, and to send more. */
const PATIENCE_MS = 30_000;
/** Sent by a proxy that cannot reach the server, and by a server that is stopping. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** Calls `onConnection` after each request. */
export function watchedFetch(onConnection: (isConnected: boolean) => void): typeof fetch {
  return async (input, init = {}) => {
    const silence = new AbortController();
    const signals = [silence.signal, init.signal ?? []].flat();
    let timer: NodeJS.Timeout | undefined;
    const wait = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new Error('The server stopped responding.')), ms);
      timer.unref();
    };
    wait(PATIENCE_MS);
    try {
      const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) });
      clearTimeout(timer);
      onConnection(!AWAY.has(response.status));
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      if (!response.body) return response;
      const patienceMs = isStream ? SILENCE_MS : PATIENCE_MS;
      wait(patienceMs);
      const alive = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          wait(patienceMs);
          controller.enqueue(chunk);
        },
        flush: () => clearTimeout(timer),
      });
      return new Response(response.body.pipeThrough(alive), response);
    } catch (error) {
      clearTimeout(timer);
      if (!init.signal?.aborted) onConnection(false);
      throw error;
    }
  };
}
