// The channel for programs: posts every notice to a URL, signed as Standard Webhooks says.
import { createHash, randomUUID } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from '@hono/zod-openapi';
import { type Json, type Notice, UsageError } from 'countersign';
import { aBoolean, aFunction, checkOptions, isStrings, option } from '../../check-options.ts';
import { DeliveryError } from '../delivery-error.ts';
import type { ServerChannel } from '../server-channel.ts';
import { type Allow, addressRule, refusedAddress } from './addresses.ts';
import { checkAnswer } from './answer.ts';
import { webhookEvent } from './event.ts';
import { connect, post, type Route, resolveHost } from './post.ts';
import { sampleNotice } from './sample-notice.ts';
import { checkSecret, signatures } from './signatures.ts';

export type WebhookOptions = {
  /** `webhook` by default. Deliveries are recorded under it. */
  readonly name?: string;
  /** The address of the receiver. It must be https and public, unless `allow` says otherwise. */
  readonly url: string;
  /**
   * Signs what is posted: `whsec_` and 24 to 64 random bytes in base64. To replace a secret, pass the new and the old one until
   * the receiver has the new one: each of them signs. Only a webhook with `transform` may go without.
   */
  readonly secret?: string | readonly string[];
  /** Receivers that are not on the public internet: host names, addresses and ranges, or `private` for all private networks. */
  readonly allow?: Allow;
  /** How long one attempt may take; 10,000 by default. */
  readonly timeoutMs?: number;
  /** Sent with every request, such as the key of an API. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Makes another body, such as `teamsMessage`. Undefined means that this notice is not sent. */
  readonly transform?: (notice: Notice) => Json | undefined;
  /** True by default: every notice is sent. With false, a request that is over is announced only if it was announced before. */
  readonly all?: boolean;
};

/**
 * Makes a channel that posts every notice to a program, as a `WebhookEvent`.
 * @example
 * webhook({ url: 'https://erp.example.com/hooks/approvals', secret: process.env.WEBHOOK_SECRET })
 */
export function webhook(options: WebhookOptions): ServerChannel {
  checkOptions('webhook', WebhookOptionsShape, options);
  const { name = 'webhook', timeoutMs = 10_000, headers = {}, transform, all = true } = options;
  const url = new URL(options.url);
  const route: Route = { refusal: addressRule(options.allow), resolve: resolveHost };
  const secrets = secretsOf(options);
  const refused = refusedAddress(url, route.refusal);
  if (refused !== undefined)
    throw new UsageError('invalid-options', { option: 'url' }, `\`url\` of webhook(): ${refused}.`);

  const send = async (key: string, body: unknown, signal: AbortSignal): Promise<void> => {
    const text = JSON.stringify(body);
    const id = headerIdOf(key);
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const posted = {
      headers: {
        'user-agent': 'Countersign',
        ...headers,
        ...(await signatures(secrets, id, text)),
        ...contentHeaders(text),
      },
      body: text,
      signal: within,
    };
    checkAnswer(url, await post(url, posted, route).catch((error: unknown) => failed(url, error, timeoutMs)));
  };
  const never = new AbortController().signal;
  return {
    name,
    all,
    async deliver(notice, { signal }) {
      const body = transform ? transform(notice) : webhookEvent(notice);
      if (body !== undefined) await send(notice.key, body, signal);
    },
    async check() {
      await connect(url, AbortSignal.timeout(timeoutMs), route).catch((error) => failed(url, error, timeoutMs));
    },
    async sample() {
      const bodies = transform ? SAMPLES.map((type) => transform(sampleNotice(type))) : [testEvent()];
      const posted = bodies.filter((body) => body !== undefined);
      for (const body of posted) await send(`sample-${randomUUID()}`, body, never);
      return posted.length > 0
        ? `Posted a sample to ${url.host}.`
        : 'Posted nothing: `transform` leaves out the sample.';
    },
  };
}

/** A sample that is opened and closed leaves nothing open at the receiver. */
const SAMPLES = ['opened', 'withdrawn'] as const;

/** Has its own type, so that no receiver acts on it. */
const testEvent = () => ({ type: 'webhook.test', version: 1, timestamp: new Date().toISOString(), data: {} });

const isUrl = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
const isDuration = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= 60_000;

const WebhookOptionsShape = z.strictObject({
  name: option(
    (value) => typeof value === 'string' && /^[A-Za-z0-9-]{1,50}$/.test(value),
    'must be letters, digits and dashes',
  ),
  url: z.custom(isUrl, 'must be an address that begins with https:// or http://'),
  secret: option((value) => isStrings([value].flat()), 'must be a string or an array of strings'),
  allow: option((value) => value === 'private' || isStrings(value), 'must be "private" or an array of strings'),
  timeoutMs: option(isDuration, 'must be a whole number of milliseconds, at most 60000'),
  headers: option(areHeaders, 'must be an object of valid headers, without those that the webhook sets itself'),
  transform: aFunction,
  all: aBoolean,
} satisfies Record<keyof WebhookOptions, z.ZodType>);

const OWN_HEADERS = /^(?:webhook-.*|content-.*|host|connection|transfer-encoding|expect|upgrade)$/i;

function areHeaders(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  try {
    for (const [name, text] of Object.entries(value)) {
      validateHeaderName(name);
      validateHeaderValue(name, text);
      if (typeof text !== 'string' || OWN_HEADERS.test(name)) return false;
    }
    return true;
  } catch {
    // Node's message contains the value, which may be a secret.
    return false;
  }
}

function secretsOf({ secret, transform }: WebhookOptions): readonly string[] {
  const secrets = [secret ?? []].flat();
  if (secrets.length === 0 && !transform)
    throw new UsageError(
      'invalid-options',
      { option: 'secret' },
      'webhook() needs a `secret`, so that the receiver can tell who posts. Make one with `openssl rand -base64 32`.',
    );
  for (const one of secrets) checkSecret(one);
  return secrets;
}

/** Receivers drop repeats by it. A key with characters that do not belong in the header is replaced by its hash. */
function headerIdOf(key: string): string {
  return /^[\w|:/=+~-]{1,255}$/.test(key) ? key : createHash('sha256').update(key).digest('base64url');
}

const contentHeaders = (text: string) => ({
  'content-type': 'application/json',
  'content-length': String(Buffer.byteLength(text)),
});

/** Names the host, and not the whole URL, whose path may be a secret. */
function failed({ host }: URL, error: unknown, timeoutMs: number): never {
  if (error instanceof DeliveryError) throw error;
  const { code, message, cause } = error as NodeJS.ErrnoException;
  const isLate = [error, cause].some((one) => one instanceof DOMException && one.name === 'TimeoutError');
  const why = isLate ? `did not answer within ${timeoutMs / 1_000} s` : `could not be reached: ${code ?? message}`;
  throw new DeliveryError(`${host} ${why}.`, { cause: error });
}
