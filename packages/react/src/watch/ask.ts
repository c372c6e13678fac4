// Requests to a chat route or a server, with the headers and the `fetch` of the page.

/** Where the chat's server is, and how it is asked. */
export type WatchSource = {
  /** The address that the chat posts to, such as `/api/chat`. */
  readonly api?: string | undefined;
  /** Whether to hear of what happens elsewhere; by default, if `api` is given. */
  readonly watch?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>) | undefined;
  readonly credentials?: RequestCredentials | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

export function ask(url: string, source: WatchSource, init: RequestInit = {}): Promise<Response> {
  const { headers, credentials, fetch = globalThis.fetch } = source;
  return fetch(url, {
    cache: 'no-store',
    ...init,
    headers: { ...init.headers, ...(typeof headers === 'function' ? headers() : headers) },
    ...(credentials && { credentials }),
  });
}
