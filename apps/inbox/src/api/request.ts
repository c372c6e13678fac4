// Requests to the server: JSON in, JSON out, and what the server refuses as an error that says why.
import { mount } from './mount.ts';
import type { Decided, Problem } from './wire.ts';

/** What the server said instead of doing it (`application/problem+json`). */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** Into an edited input or an answer. */
  readonly problems: readonly Problem[];
  /** The decision already recorded, and who made it. */
  readonly settlement: Partial<Decided> | undefined;

  constructor(status: number, body: { readonly [key: string]: unknown }) {
    const { code, title, detail, problems, settlement } = body;
    super([detail, title].find((text) => typeof text === 'string') ?? `The server returned ${status}.`);
    this.status = status;
    this.code = typeof code === 'string' ? code : 'unknown';
    this.problems = Array.isArray(problems) ? problems : [];
    this.settlement = typeof settlement === 'object' && settlement !== null ? settlement : undefined;
  }
}

/** The server was not reached: it is down, or the network is. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The address of a part of the API, wherever the app is mounted. */
export const apiUrl = (path: string): string => new URL(`api/v1/${path}`, mount).href;

type Method = 'GET' | 'POST' | 'DELETE';
type Given = { readonly method?: Method; readonly body?: unknown; readonly signal?: AbortSignal };

/** Rejects with a {@link Refusal} or {@link Unreachable}, never with anything else but an abort. */
export async function request<Answer>(path: string, { method = 'GET', body, signal }: Given = {}): Promise<Answer> {
  const response = await send(path, {
    method,
    headers: {
      accept: 'application/json',
      'x-countersign-channel': 'inbox',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const said: unknown = await response.json().catch(() => undefined);
  if (!response.ok)
    throw new Refusal(
      response.status,
      typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : {},
    );
  return said as Answer;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(apiUrl(path), { cache: 'no-store', credentials: 'same-origin', ...init });
    // A proxy whose server is down.
    if ([502, 503, 504].includes(response.status)) throw new Unreachable('The server is not responding.');
    return response;
  } catch (error) {
    if (init.signal?.aborted || error instanceof Unreachable) throw error;
    throw new Unreachable('Cannot reach the server.', { cause: error });
  }
}

/** Builds `?a=1&b=2`, leaving out undefined and empty values. */
export function queryOf(given: { readonly [name: string]: string | number | undefined }): string {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries.map(([name, value]) => [name, `${value}`]))}`;
}
