// The response to a call over HTTP: that of the MCP server, or a stream of events, which the client may resume if the server's own ended.
import { SSE_HEADERS, type SseEvent, sseBytes } from 'countersign/ui';
import type { RpcMessage } from './messages.ts';

/** One event on the wire. The server's ids and times to wait go to the client, so that it resumes as it would without the gateway. */
export type Frame = Omit<SseEvent, 'event'>;

export const encodedFrame = ({ data, id, retry }: Frame): Uint8Array =>
  sseBytes({ ...(data !== '' && { event: 'message' }), id, retry, data });

export class Reply {
  readonly #response = Promise.withResolvers<Response>();
  /** Frames that wait for the client to come back. */
  #waiting: Uint8Array[] = [];
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #back = Promise.withResolvers<void>();
  #at: 'new' | 'streaming' | 'parked' | 'over' = 'new';

  get response(): Promise<Response> {
    return this.#response.promise;
  }

  /** Answers with a response that is not ours. */
  pass(response: Response): void {
    if (this.#at !== 'new') return;
    this.#at = 'over';
    this.#response.resolve(response);
  }

  /** Resolves once the client has it, and rejects if it does not come back for it. */
  async send(message: RpcMessage, comesBackWithinMs: number): Promise<void> {
    this.write({ data: JSON.stringify(message) });
    if (this.#at !== 'parked') return;
    const late = setTimeout(
      () => this.#back.reject(new Error('the client did not resume the stream')),
      comesBackWithinMs,
    );
    await this.#back.promise.finally(() => clearTimeout(late));
  }

  write(frame: Frame): void {
    if (this.#at === 'over') return;
    if (this.#at === 'new') this.#response.resolve(this.#open());
    if (this.#at === 'parked') this.#waiting.push(encodedFrame(frame));
    else this.#stream?.enqueue(encodedFrame(frame));
  }

  /** Ends the stream, as the server has. The client comes back for the rest. */
  park(): void {
    if (this.#at !== 'streaming') return;
    this.#at = 'parked';
    this.#back = Promise.withResolvers();
    this.#back.promise.catch(() => undefined);
    this.#stream?.close();
  }

  /** The rest, for a client that is back. */
  resume(): Response {
    const response = this.#open();
    for (const frame of this.#waiting.splice(0)) this.#stream?.enqueue(frame);
    this.#back.resolve();
    return response;
  }

  end(): void {
    if (this.#at === 'streaming') this.#stream?.close();
    // The client is gone, so nobody reads it.
    this.#response.resolve(new Response(null, { status: 202 }));
    this.#at = 'over';
  }

  #open(): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller;
      },
      cancel: () => {
        if (this.#at === 'streaming') this.#at = 'over';
      },
    });
    this.#at = 'streaming';
    return new Response(body, { headers: SSE_HEADERS });
  }
}
