// Streaming responses with a limited lifetime, which hold a timer only while they are open.

/**
 * Opens a response with a signal that aborts when one of `signals` does, or after `lifetimeMs`: then the client connects
 * again and is identified again. The timer and the listeners are removed when the response has ended.
 */
export async function limitedStream(
  open: (signal: AbortSignal) => Promise<Response>,
  signals: readonly AbortSignal[],
  lifetimeMs: number,
): Promise<Response> {
  const ended = new AbortController();
  const end = () => ended.abort();
  const timer = setTimeout(end, lifetimeMs);
  timer.unref();
  for (const signal of signals) signal.addEventListener('abort', end);
  if (signals.some(({ aborted }) => aborted)) end();
  const release = () => {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', end);
  };
  try {
    const response = await open(ended.signal);
    if (response.body) return new Response(releasing(response.body, release), response);
    release();
    return response;
  } catch (error) {
    release();
    throw error;
  }
}

/** The same stream, which calls `release` when it has ended or its reader leaves. */
function releasing(body: ReadableStream<Uint8Array>, release: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          release();
          controller.close();
        } catch (error) {
          release();
          controller.error(error);
        }
      },
      cancel(reason) {
        release();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
