// A fetch that gives up on a silent connection. The server sends comments while an answer continues, and closes connections
// that are idle for a minute. After a minute of silence, the connection was lost on the way.

const SILENCE_MS = 60_000;

/** Rejects, or ends the response, with an error that is not an abort: the caller has not given up. */
export async function patientFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const silence = new AbortController();
  const give = () => silence.abort(new Error('The server sent nothing for a minute.'));
  let timer = setTimeout(give, SILENCE_MS);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(give, SILENCE_MS);
  };
  const end = () => clearTimeout(timer);
  const signals = [silence.signal, ...(init.signal ? [init.signal] : [])];
  try {
    const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) });
    if (!response.body) {
      end();
      return response;
    }
    heard();
    const { status, statusText, headers } = response;
    const listening = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        heard();
        controller.enqueue(chunk);
      },
      flush: end,
    });
    return new Response(response.body.pipeThrough(listening), { status, statusText, headers });
  } catch (error) {
    end();
    throw error;
  }
}
