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

/** How long one node may take before the next one is asked as well. */
const NODE_MS = 2_000;
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
  async call({ service, key, handler, body, changes }: Call): Promise<string> {
    if (key === '.' || key === '..')
      throw new UsageError('invalid-options', { key }, `"${key}" cannot be an id on Restate. Choose another one.`);
    const path = [service, ...(key === undefined ? [] : [encodeURIComponent(key)]), handler].join('/');
    const isText = typeof body === 'string';
    const text = isText ? body : body === undefined ? '' : JSON.stringify(body);
    const headers: Record<string, string> = {};
    if (body !== undefined) headers['content-type'] = isText ? 'text/plain' : 'application/json';
    // Restate does not compare bodies, so the key covers the body too.
    if (changes) headers['idempotency-key'] = `${randomUUID()}.${hash('sha256', text, 'base64url').slice(0, 22)}`;
    const giveUpAt = performance.now() + this.#timeoutMs;
    let failure: unknown;
    for (let attempt = 0; performance.now() < giveUpAt; attempt += 1) {
      const place = (this.#current + attempt) % this.#addresses.length;
      if (attempt >= this.#addresses.length) await delay(PAUSE_MS);
      const leftMs = Math.max(1, giveUpAt - performance.now());
      const signal = AbortSignal.timeout(Math.ceil(this.#addresses.length === 1 ? leftMs : Math.min(leftMs, NODE_MS)));
      try {
        const address = `${this.#addresses[place]}/${path}`;
        const response = await fetch(address, { method: 'POST', headers, body: text === '' ? null : text, signal });
        const answer = await response.text();
        if (response.ok) {
          this.#current = place;
          return answer;
        }
        failure = new Error(`${response.status} ${answer.slice(0, 500)}`);
        if (response.status === 404) throw notRegistered(service, failure);
      } catch (error) {
        if (error instanceof ProviderError) throw error;
        failure = error;
      }
    }
    const message = `No node of the Restate cluster answered within ${this.#timeoutMs} ms (${reasonOf(failure)}). The call may still have happened.`;
    throw new ProviderError('store-failed', { service, handler }, message, { cause: failure, retryable: true });
  }
}

function notRegistered(service: string, cause: unknown): ProviderError {
  const message = `Restate does not know the service ${service}. Start an endpoint with serveRestate() and register its address with the cluster.`;
  return new ProviderError('store-failed', { service }, message, { cause, retryable: true });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
