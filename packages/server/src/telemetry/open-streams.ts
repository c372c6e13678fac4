// Answers that go on for long: so many at most, counted until they end, and ended when whoever follows may not any more.
import { UsageError } from 'countersign';
import type { Measures } from './measures.ts';

export type OpenStreamsOptions = {
  readonly measures: Measures;
  readonly most: number;
  /** How often it is looked whether those who follow are still known. */
  readonly checkMs: number;
};

/** Whether whoever asked is still who they were: tokens are revoked, sessions end. */
export type StillKnown = () => Promise<boolean>;

export type Holding = {
  readonly stillKnown: StillKnown | undefined;
  /** Told why a stream broke off, if it was for something here. */
  readonly failed: (error: unknown) => void;
  /** Cuts the connection that carries it, where that is known: quietly, so that nobody prints each one. */
  readonly cut?: () => void;
};

type OpenStream = { readonly stillKnown: StillKnown | undefined; readonly end: () => void };

export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #open = new Set<OpenStream>();
  #checking: ReturnType<typeof setInterval> | undefined;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
  }

  /** The same answer, held until it ends. Throws `too-many-streams`. */
  hold(response: Response, { stillKnown, failed, cut }: Holding): Response {
    const { body, status, headers } = response;
    if (!body || !(headers.get('content-type') ?? '').startsWith('text/event-stream')) return response;
    const { most, measures } = this.#options;
    if (this.#open.size >= most) {
      void body.cancel().catch(() => undefined);
      throw new UsageError('too-many-streams', { status: 503 }, 'Too many streams are open. Try again later.');
    }
    const { stream, end } = tapped(body, () => this.#ended(held), failed, cut);
    const held: OpenStream = { stillKnown, end };
    this.#open.add(held);
    measures.stream(1);
    this.#checking ??= this.#check();
    return new Response(stream, { status, headers });
  }

  #ended(held: OpenStream): void {
    if (!this.#open.delete(held)) return;
    this.#options.measures.stream(-1);
    if (this.#open.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }

  #check(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => {
      // A store that is away says nothing of those who follow.
      for (const { stillKnown, end } of this.#open)
        stillKnown?.().then(
          (isKnown) => isKnown || end(),
          () => undefined,
        );
    }, this.#options.checkMs);
    timer.unref();
    return timer;
  }
}

/** The same bytes at the pace of the reader; `ended` is told however it ends, and `end` ends it. */
function tapped(
  body: ReadableStream<Uint8Array>,
  ended: () => void,
  failed: (error: unknown) => void,
  cut: (() => void) | undefined,
): { readonly stream: ReadableStream<Uint8Array>; readonly end: () => void } {
  const reader = body.getReader();
  let hasLeft = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (hasLeft) return;
          if (!done) return controller.enqueue(value);
          ended();
          controller.close();
        } catch (error) {
          ended();
          failed(error);
          // What is cut cannot be told that this is the end: the client notices that it broke off.
          if (cut) {
            cut();
            return controller.close();
          }
          // Whoever carries the stream may print why it broke off, or send it.
          controller.error(new Error('The stream broke off.'));
        }
      },
      async cancel(reason) {
        hasLeft = true;
        ended();
        await reader.cancel(reason);
      },
    },
    // Nothing is kept here: what the reader has not asked for stays where it is.
    { highWaterMark: 0 },
  );
  // What waits to be read is told that there is no more, and so is the client.
  return { stream, end: () => void reader.cancel().catch(() => undefined) };
}
