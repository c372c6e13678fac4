// Calls of handlers through the ingress of the cluster. A call goes to the next node if one does not answer.
import { hash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ProviderError, UsageError } from 'countersign';

export type IngressOptions = {
  readonly addresses: readonly string[];
  /** How long a call may take, over all nodes. */
  readonly timeoutMs: number;
};

export type Call = {
  readonly service: string;
  readonly key?: string;
  readonly handler: string;
  /** A text travels as it is, anything else as JSON. */
  readonly body?: unknown;
  /** A call that changes something happens once, however often it is sent. */
  readonly changes: boolean;
};

/** A node that has not answered after so long keeps its chance, and the next one is asked as well. */
const NODE_MS = 1_000;
/** Between two attempts on a node that refuses. */
const PAUSE_MS = 50;

export class Ingress {
  readonly #addresses: readonly string[];
  readonly #timeoutMs: number;
  /** The node that answered last. */
  #current = 0;

  constructor({ addresses, timeoutMs }: IngressOptions) {
    this.#addresses = addresses.map((address) => address.replace(/\/+$/, ''));
    this.#timeoutMs = timeoutMs;
  }

  /** The text of the answer. Rejects with `store-failed` if no node answers in time; the call may still have happened. */
  async call(call: Call): Promise<string> {
    const request = requestOf(call);
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), this.#timeoutMs);
    const running = new Map<number, Promise<Outcome>>();
    const nodes = this.#addresses.length;
    const first = this.#current;
    let failure: unknown = 'no answer';
    try {
      for (let turn = 0; !end.signal.aborted; turn += 1) {
        const place = (first + turn) % nodes;
        if (!running.has(place)) running.set(place, this.#ask(place, request, end.signal));
        const slow = delay(NODE_MS, undefined, { signal: end.signal }).catch(() => undefined);
        const outcome = await Promise.race([...running.values(), slow]);
        if (outcome === undefined || end.signal.aborted) continue;
        if ('answer' in outcome) {
          this.#current = outcome.place;
          return outcome.answer;
        }
        failure = outcome.failure;
        running.delete(outcome.place);
        if (turn >= nodes - 1) await delay(PAUSE_MS);
      }
    } finally {
      clearTimeout(timer);
      end.abort();
    }
    const message = `No node of the Restate cluster answered within ${this.#timeoutMs} ms (${reasonOf(failure)}). The call may still have happened.`;
    const details = { service: call.service, handler: call.handler };
    throw new ProviderError('store-failed', details, message, { cause: failure, retryable: true });
  }

  /** Rejects only if every node would say the same. */
  async #ask(place: number, { path, ...request }: Request, signal: AbortSignal): Promise<Outcome> {
    try {
      const response = await fetch(`${this.#addresses[place]}/${path}`, { ...request, signal });
      const answer = await response.text();
      if (response.ok) return { place, answer };
      const failure = new Error(`${response.status} ${answer.slice(0, 500)}`);
      if (response.status === 404) throw notRegistered(path, failure);
      return { place, failure };
    } catch (failure) {
      if (failure instanceof ProviderError) throw failure;
      return { place, failure };
    }
  }
}

type Outcome =
  | { readonly place: number; readonly answer: string }
  | { readonly place: number; readonly failure: unknown };

type Request = {
  readonly path: string;
  readonly method: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

function requestOf({ service, key, handler, body, changes }: Call): Request {
  if (key === '.' || key === '..')
    throw new UsageError('invalid-options', { key }, `"${key}" cannot be an id on Restate. Choose another one.`);
  const path = [service, ...(key === undefined ? [] : [encodeURIComponent(key)]), handler].join('/');
  const isText = typeof body === 'string';
  const text = isText ? body : body === undefined ? '' : JSON.stringify(body);
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['content-type'] = isText ? 'text/plain' : 'application/json';
  // Restate does not compare bodies, so the key covers the body too.
  if (changes) headers['idempotency-key'] = `${randomUUID()}.${hash('sha256', text, 'base64url').slice(0, 22)}`;
  return { path, method: 'POST', headers, body: text === '' ? null : text };
}

function notRegistered(path: string, cause: unknown): ProviderError {
  const [service = ''] = path.split('/');
  const message = `Restate does not know the service ${service}. Start an endpoint with serveRestate() and register its address with the cluster.`;
  return new ProviderError('store-failed', { service }, message, { cause, retryable: true });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
