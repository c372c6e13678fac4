// Requests to an MCP server over Streamable HTTP. Redirects are never followed, and bodies have a limit.
import { setTimeout as sleep } from 'node:timers/promises';
import { readServerEvents } from '../client/server-events.ts';
import { limitedBody } from '../http/limited-body.ts';
import { isRecord } from '../is-record.ts';
import { forwarded, headersFor } from './http-headers.ts';
import { failure, INVALID_PARAMS, type RpcMessage, type RpcRequest } from './messages.ts';
import { parsedJson } from './read-message.ts';
import type { Frame } from './reply.ts';
import type { McpTool } from './rules.ts';

/** The longest message of a server. */
export const MOST_ANSWER_BYTES = 64 * 1024 * 1024;
/** A wait before resuming, if the server names none, and the longest one. */
const RETRY_MS = 1_000;
const MOST_RETRY_MS = 30_000;

export type ReceivedFrame = Frame & { readonly message?: RpcMessage | undefined };

export class HttpUpstream {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  post(client: Headers, message: RpcMessage, signal: AbortSignal, tool?: McpTool): Promise<Response> {
    return this.request('POST', headersFor(client, message, tool), signal, JSON.stringify(message));
  }

  async request(method: string, headers: Headers, signal: AbortSignal, body?: string): Promise<Response> {
    const options = { method, headers, redirect: 'manual', signal, ...(body !== undefined && { body }) } as const;
    const response = await fetch(this.#url, options);
    if (response.status < 300 || response.status >= 400 || response.status === 304) return response;
    await response.body?.cancel();
    throw new Error(`it redirects (HTTP ${response.status}), and redirects are not followed`);
  }

  /**
   * Sends a request, and yields what comes back until the signal is aborted or the server has nothing more to say. A stream that
   * the server ends early, or that breaks, is resumed; an undefined frame says so.
   */
  async *exchange(
    client: Headers,
    message: RpcRequest,
    signal: AbortSignal,
    tool: McpTool | undefined,
  ): AsyncGenerator<ReceivedFrame | undefined> {
    let response = await this.post(client, message, signal, tool);
    if (!isStream(response)) {
      yield { data: '', message: await singleAnswer(response, message) };
      return;
    }
    let last: string | undefined;
    let retry = RETRY_MS;
    for (;;) {
      try {
        for await (const frame of framesOf(response)) {
          last = frame.id ?? last;
          retry = Math.min(frame.retry ?? retry, MOST_RETRY_MS);
          yield frame;
        }
      } catch (error) {
        if (last === undefined || signal.aborted) throw error;
      }
      if (last === undefined) return;
      yield undefined;
      await sleep(retry, undefined, { signal });
      const headers = forwarded(client);
      headers.delete('content-type');
      headers.set('accept', 'text/event-stream');
      headers.set('last-event-id', last);
      response = await this.request('GET', headers, signal);
      if (isStream(response)) continue;
      await response.body?.cancel();
      throw new Error(`its stream ended and cannot be resumed: HTTP ${response.status}`);
    }
  }
}

export const isStream = ({ headers, body, ok }: Response): boolean =>
  ok && body !== null && headers.get('content-type')?.startsWith('text/event-stream') === true;

export async function* framesOf(response: Response): AsyncGenerator<ReceivedFrame> {
  if (!response.body) return;
  for await (const { data, id, retry } of readServerEvents(response.body, MOST_ANSWER_BYTES))
    yield { data, id, retry, message: messageIn(data) };
}

/** The text of a response. Throws if it is too long. */
export async function textOf(message: Response | Request, most: number): Promise<string> {
  const body = await limitedBody(message, most);
  if (body) return body.toString('utf8');
  throw new TooLong(`It has more than ${most} bytes.`);
}

export class TooLong extends Error {}

/** Undefined if the text is not a message. */
export function messageIn(text: string): RpcMessage | undefined {
  const value = text === '' ? undefined : parsedJson(text);
  return isRecord(value) ? (value as unknown as RpcMessage) : undefined;
}

/** The answer in a response that is not a stream. The server has refused a request that it answers with 4xx. */
async function singleAnswer(response: Response, message: RpcRequest): Promise<RpcMessage> {
  const { status } = response;
  // It is read here: the connection ends with the request.
  if (message.method === 'tools/list' && !response.ok)
    throw new HttpRefusal(status, new Response(await textOf(response, MOST_ANSWER_BYTES), response));
  if (status >= 500) throw new Error(`HTTP ${status}`);
  const found = messageIn(await textOf(response, MOST_ANSWER_BYTES));
  if (found && !('method' in found)) return { ...found, id: message.id };
  if (status >= 400) return failure(message, INVALID_PARAMS, `The MCP server refused it: HTTP ${status}`);
  throw new Error(`HTTP ${status} without a response`);
}

/** The server does not list its tools for this client. Nobody is asked about its calls, and it is told as the server tells it. */
export class HttpRefusal extends Error {
  readonly response: Response;

  constructor(status: number, response: Response) {
    super(`HTTP ${status}`);
    this.response = response;
  }
}
