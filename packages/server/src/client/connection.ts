// The client's connection: URLs, headers, errors, and streams that reconnect.
import { ApiError, errorOf } from './api-error.ts';
import { type ReceivedEvent, readServerEvents } from './server-events.ts';

export type ConnectionOptions = {
  readonly token?: string;
  readonly channel?: 'api' | 'inbox' | 'chat' | 'cli' | 'mcp';
  readonly fetch?: typeof fetch;
};

/** Query parameters; undefined values are omitted. */
export type Query = Readonly<Record<string, string | number | undefined>>;

export type Ask = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

const RETRY_MS = 1_000;

export class Connection {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;

  constructor(url: string, { token, channel, fetch: given }: ConnectionOptions) {
    this.#base = `${url.replace(/\/+$/, '')}/api/v1`;
    this.#headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(channel !== undefined && { 'x-countersign-channel': channel }),
    };
    // Browsers require that `fetch` is called on the window.
    this.#fetch = given ?? ((input, init) => fetch(input, init));
  }

  async json<T>(path: string, ask: Ask = {}): Promise<T> {
    return JSON.parse(await this.text(path, ask)) as T;
  }

  async text(path: string, ask: Ask = {}): Promise<string> {
    const response = await this.#send(path, ask, { accept: 'application/json' });
    return response.text().catch((cause: unknown) => {
      if (ask.signal?.aborted) throw cause;
      throw new ApiError(0, 'unreachable', 'The connection dropped during the response.', undefined, { cause });
    });
  }

  /**
   * Yields every event from now or after `lastId`, and reconnects until `event: end` or the signal. Without an id, it yields
   * `event: connected` after each connect: from then on no event is missed.
   */
  async *events(path: string, ask: Ask, lastId?: number): AsyncGenerator<ReceivedEvent> {
    let last = lastId === undefined ? undefined : String(lastId);
    while (!ask.signal?.aborted) {
      try {
        const header = last === undefined ? {} : { 'last-event-id': last };
        const response = await this.#send(path, ask, { accept: 'text/event-stream', ...header });
        if (!response.body) return;
        if (last === undefined) yield { event: 'connected', data: '' };
        for await (const event of readServerEvents(response.body)) {
          if (event.event === 'end') return;
          last = event.id ?? last;
          yield event;
        }
      } catch (error) {
        if (ask.signal?.aborted) return;
        // A refusal is final, except when too many streams are open.
        if (error instanceof ApiError && ![0, 429].includes(error.status) && error.status < 500) throw error;
      }
      await pause(RETRY_MS, ask.signal);
    }
  }

  async #send(path: string, ask: Ask, headers: Readonly<Record<string, string>>): Promise<Response> {
    const { method = 'GET', query = {}, body, idempotencyKey, signal } = ask;
    const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
    const response = await this.#fetch(`${this.#base}${path}${search}`, {
      method,
      headers: {
        ...this.#headers,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }).catch((cause: unknown) => {
      if (signal?.aborted) throw cause;
      throw new ApiError(0, 'unreachable', 'Cannot reach the server.', undefined, { cause });
    });
    if (response.ok) return response;
    throw await errorOf(response);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
