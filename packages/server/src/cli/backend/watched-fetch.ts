// A fetch that reports whether the server responds, and never waits forever.

/** Streams send a keep-alive every 15 seconds, so a response that is silent for this long is dead. */
const SILENCE_MS = 60_000;
/** Sent by a proxy that cannot reach the server, and by a server that is stopping. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** Calls `onConnection` after each request. */
export function watchedFetch(onConnection: (isConnected: boolean) => void): typeof fetch {
  return async (input, init = {}) => {
    const silence = new AbortController();
    const stop = () => silence.abort(new Error('The server stopped responding.'));
    const timer = setTimeout(stop, SILENCE_MS).unref();
    try {
      const signal = AbortSignal.any([silence.signal, init.signal ?? []].flat());
      const response = await fetch(input, { ...init, signal });
      onConnection(!AWAY.has(response.status));
      const alive = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          timer.refresh();
          controller.enqueue(chunk);
        },
        flush: () => clearTimeout(timer),
      });
      return new Response(response.body?.pipeThrough(alive), response);
    } catch (error) {
      clearTimeout(timer);
      if (!init.signal?.aborted) onConnection(false);
      throw error;
    }
  };
}
