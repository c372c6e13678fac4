// Open streams: limited per process and per person, counted until they end, ended when the person loses access.
import { UsageError } from 'countersign';

export type OpenStreamsOptions = {
  /** Counts open streams. */
  readonly measures: { stream(change: 1 | -1): void };
  readonly limit: number;
  readonly limitPerPerson: number;
  /** How often access is checked again. */
  readonly checkMs: number;
  /** After so long a stream ends, so that its client connects again and is identified again. */
  readonly lifetimeMs: number;
  /** Ends every limited stream. */
  readonly closed: AbortSignal;
};

/** Resolves to false once the person has lost access: a token was revoked, a session ended. */
export type StillKnown = () => Promise<boolean>;

export type TrackOptions = {
  readonly person: string | undefined;
  /** Whether the stream only shows something, so that it may end early and be opened again. */
  readonly isLimited: boolean;
  readonly stillKnown: StillKnown | undefined;
  /** Receives the error if a stream breaks because of the server. */
  readonly failed: (error: unknown) => void;
  /** Destroys the connection without printing an error, where the connection is known. */
  readonly cut?: () => void;
};

type OpenStream = Pick<TrackOptions, 'person' | 'isLimited' | 'stillKnown'> & {
  readonly lifetime: NodeJS.Timeout | undefined;
  readonly end: () => void;
};

export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #open = new Set<OpenStream>();

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
    const checking = setInterval(() => this.#check(), options.checkMs).unref();
    options.closed.addEventListener('abort', () => {
      clearInterval(checking);
      for (const { isLimited, end } of this.#open) if (isLimited) end();
    });
  }

  /** Throws `too-many-streams` if this person cannot open another stream now. */
  checkRoom(person: string | undefined): void {
    const { limit, limitPerPerson } = this.#options;
    if (this.#open.size >= limit)
      throw new UsageError('too-many-streams', { status: 503 }, 'Too many streams are open. Try again later.');
    const own = [...this.#open].filter((stream) => stream.person === person);
    if (person !== undefined && own.length >= limitPerPerson)
      throw new UsageError(
        'too-many-streams',
        { status: 429, headers: { 'retry-after': '5' } },
        `${person} has ${limitPerPerson} open streams, which is the limit. Close some and try again.`,
      );
  }

  /** Returns the same response, counted until it ends. Throws `too-many-streams`. */
  track(response: Response, { person, isLimited, stillKnown, failed, cut }: TrackOptions): Response {
    const { body, status, headers } = response;
    if (!body || !isStream(headers.get('content-type') ?? '')) return response;
    try {
      this.checkRoom(person);
    } catch (error) {
      void body.cancel().catch(() => undefined);
      throw error;
    }
    const { stream, end } = tapped(body, () => this.#ended(held), failed, cut);
    const { lifetimeMs, closed, measures } = this.#options;
    const lifetime = isLimited ? setTimeout(end, closed.aborted ? 0 : lifetimeMs).unref() : undefined;
    const held: OpenStream = { person, isLimited, stillKnown, lifetime, end };
    this.#open.add(held);
    measures.stream(1);
    return new Response(stream, { status, headers });
  }

  /** Counts a request that waits, such as a long poll, until the returned function is called. Throws `too-many-streams`. */
  hold(person: string): () => void {
    this.checkRoom(person);
    const end = () => undefined;
    const held: OpenStream = { person, isLimited: false, stillKnown: undefined, lifetime: undefined, end };
    this.#open.add(held);
    this.#options.measures.stream(1);
    return () => this.#ended(held);
  }

  #ended(held: OpenStream): void {
    if (!this.#open.delete(held)) return;
    clearTimeout(held.lifetime);
    this.#options.measures.stream(-1);
  }

  #check(): void {
    // If the store is unavailable, access is checked again later.
    for (const { stillKnown, end } of this.#open)
      stillKnown?.()
        .then((isKnown) => isKnown || end())
        .catch(() => undefined);
  }
}

const isStream = (contentType: string): boolean => contentType.startsWith('text/event-stream');

/** Passes bytes on at the pace of the reader. Calls `ended` however the stream ends; `end` ends it. */
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
          // A cut connection has no clean end, so the client notices that the stream broke off.
          if (cut) {
            cut();
            return controller.close();
          }
          // The server below may print this error or send it, so it says nothing internal.
          controller.error(new Error('The stream broke off.'));
        }
      },
      async cancel(reason) {
        hasLeft = true;
        ended();
        await reader.cancel(reason);
      },
    },
    // Without a buffer.
    { highWaterMark: 0 },
  );
  return { stream, end: () => void reader.cancel().catch(() => undefined) };
}
