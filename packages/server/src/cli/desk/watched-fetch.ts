// A fetch that notices whether the server is there, and waits for no answer without end.

/** A stream gives a sign of life every fifteen seconds. One that is silent for so long is cut, though nobody said so. */
const SILENCE_MS = 60_000;
/** For an answer to begin, and to go on. */
const PATIENCE_MS = 30_000;
/** What a proxy answers that cannot reach the server, and a server that is about to stop. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** `tell` hears with each request whether the server is there. */
export function watchedFetch(tell: (isThere: boolean) => void): typeof fetch {
  return async (input, init = {}) => {
    const silence = new AbortController();
    const signals = [silence.signal, init.signal ?? []].flat();
    let timer: NodeJS.Timeout | undefined;
    const wait = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new Error('The server does not answer any more.')), ms);
      timer.unref();
    };
    wait(PATIENCE_MS);
    try {
      const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) });
      clearTimeout(timer);
      tell(!AWAY.has(response.status));
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
      if (!init.signal?.aborted) tell(false);
      throw error;
    }
  };
}
