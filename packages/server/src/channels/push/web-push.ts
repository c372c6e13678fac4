// The channel `push`: tells people in their browsers, also while the inbox is closed. A push has a title and a link, never an input.
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { z } from '@hono/zod-openapi';
import { type Notice, UsageError } from 'countersign';
import type { Notes } from 'countersign/store';
import { checkOptions, isStrings, option, optionsOf } from '../../check-options.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { DeliveryError } from '../delivery-error.ts';
import type { ServerChannel } from '../server-channel.ts';
import { type Allow, addressRule, hostOf, refusedAddress } from '../webhook/addresses.ts';
import { checkAnswer } from '../webhook/answer.ts';
import { post, type Route, resolveHost } from '../webhook/post.ts';
import { type Subscription, Subscriptions } from './subscriptions.ts';

export type WebPushOptions = {
  /** `push` by default. Letters, digits and dashes. */
  readonly name?: string;
  /** The keys that identify this server to push services, from `countersign vapid-keys`, and where its operator is reached. */
  readonly vapid: {
    readonly publicKey: string;
    readonly privateKey: string;
    /** An address such as `mailto:ops@example.com` or `https://example.com`. */
    readonly subject: string;
  };
  /** Push services that are not on the public internet, as for `webhook`. */
  readonly allow?: Allow;
};

/** The channel, with what the API needs to let people subscribe. */
export type PushChannel = ServerChannel & {
  readonly publicKey: string;
  /** The subscriptions of people; throws before the channel is connected. */
  subscriptions(): Subscriptions;
  /** Throws `invalid-request` unless the address may be pushed to. */
  checkEndpoint(endpoint: string): void;
};

/**
 * Makes a channel that notifies each person in the browsers in which they asked for it.
 * @example
 * webPush({ vapid: { publicKey, privateKey, subject: 'mailto:ops@example.com' } })
 */
export function webPush(options: WebPushOptions): PushChannel {
  checkOptions('webPush', WebPushShape, options);
  const { name = 'push', vapid } = options;
  const route: Route = { refusal: addressRule(options.allow), resolve: resolveHost };
  let connected: Subscriptions | undefined;
  const subscriptions = (): Subscriptions => {
    if (connected) return connected;
    throw new DeliveryError('The channel is not part of a server yet: pass it to serve({ channels }).');
  };

  /** Resolves with false if the browser no longer takes pushes. */
  async function send(device: Subscription, notice: Notice, signal: AbortSignal): Promise<boolean> {
    const { default: library } = await import('web-push');
    const url = new URL(device.endpoint);
    const details = library.generateRequestDetails(device, JSON.stringify(payloadOf(notice)), {
      vapidDetails: vapid,
      TTL: secondsLeft(notice),
      urgency: notice.risk === 'high' ? 'high' : 'normal',
      // A push that was not taken yet is replaced by a later one about the same request.
      topic: createHash('sha256').update(notice.requestId).digest('base64url').slice(0, 32),
    });
    const headers = Object.fromEntries(Object.entries(details.headers).map(([key, value]) => [key, String(value)]));
    const answer = await post(url, { headers, body: details.body ?? '', signal }, route);
    if (answer.status === 404 || answer.status === 410) return false;
    checkAnswer(url, answer);
    return true;
  }

  /** To each browser of the person in which it works. */
  async function sendAll(notice: Notice, signal: AbortSignal): Promise<void> {
    const person = notice.to[0]?.person ?? '';
    const devices = await subscriptions().of(person);
    const sent = await Promise.allSettled(
      devices.map(async (device) => {
        if (!(await send(device, notice, signal))) await subscriptions().remove(person, device.endpoint);
      }),
    );
    // A browser that got the notification does not get it again because another one failed.
    const failed = sent.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failed && !sent.some(({ status }) => status === 'fulfilled')) throw failed.reason;
  }

  return {
    name,
    audience: 'person',
    publicKey: vapid.publicKey,
    subscriptions,
    connect(notes: Notes) {
      connected = new Subscriptions(notes);
    },
    checkEndpoint: (endpoint) => checkEndpoint(endpoint, route),
    deliver: (notice, { signal }) => sendAll(notice, signal),
    // One notification, which opens the inbox.
    digest: async (notices, { signal }) => {
      const [first] = notices;
      const links = first?.links && { request: new URL('../', first.links.request).href };
      if (first)
        await sendAll({ ...first, title: `${notices.length} requests: ${first.title}`, links: links ?? null }, signal);
    },
  };
}

export const isPushChannel = (channel: object): channel is PushChannel => 'checkEndpoint' in channel;

const BODIES: Readonly<Record<Notice['type'], string>> = {
  opened: 'Waits for your decision.',
  doubt: 'Its outcome is unknown. Waits for your decision.',
  reminded: 'Still waits for your decision.',
  escalated: 'Escalated: waits for your decision.',
  assigned: 'Assigned to you.',
  commented: 'New comment.',
  decided: 'Decided.',
  expired: 'Expired.',
  withdrawn: 'Withdrawn.',
  done: 'Done.',
  failed: 'Failed.',
  unknown: 'Nobody knows whether it took effect.',
  'not-run': 'Did not run.',
};

/** What the service worker shows. Push services take about 4,000 bytes. */
const payloadOf = ({ title, type, requestId, links }: Notice) => ({
  title: visibleLine([...title].slice(0, 200).join('')),
  body: BODIES[type],
  tag: requestId,
  link: links?.request ?? '',
});

const A_DAY = 24 * 60 * 60;

/** A browser that is off for longer is not told; nor is one told of a request that has expired. */
const secondsLeft = ({ expiresAt, settlement }: Notice): number =>
  expiresAt === null || settlement !== null
    ? A_DAY
    : Math.min(A_DAY, Math.max(0, Math.ceil((expiresAt - Date.now()) / 1_000)));

/** The address of a name is checked at every delivery. */
function checkEndpoint(endpoint: string, { refusal }: Route): void {
  const refused = URL.canParse(endpoint) ? refusedEndpoint(new URL(endpoint), refusal) : 'must be an address';
  if (refused !== undefined)
    throw new UsageError('invalid-request', { status: 400 }, `\`endpoint\` of the subscription: ${refused}.`);
}

function refusedEndpoint(url: URL, refusal: Route['refusal']): string | undefined {
  if (isIP(hostOf(url)) > 0) return refusedAddress(url, refusal);
  return url.protocol === 'https:' ? undefined : 'must be https';
}

const bytesOf = (value: unknown): number =>
  typeof value === 'string' && /^[\w-]+$/.test(value) ? Buffer.from(value, 'base64url').length : 0;

function isVapid(value: unknown): boolean {
  const { publicKey, privateKey, subject } = (value ?? {}) as Record<string, unknown>;
  const isSubject = typeof subject === 'string' && /^(?:mailto:.+@|https:\/\/)/.test(subject);
  return bytesOf(publicKey) === 65 && bytesOf(privateKey) === 32 && isSubject;
}

const WebPushShape = optionsOf<WebPushOptions>({
  name: option(
    (value) => typeof value === 'string' && /^[A-Za-z0-9-]{1,50}$/.test(value),
    'must be letters, digits and dashes',
  ),
  vapid: z.custom(
    isVapid,
    'must have `publicKey` and `privateKey` from `countersign vapid-keys`, and a `subject` that begins with mailto: or https://',
  ),
  allow: option((value) => value === 'private' || isStrings(value), 'must be "private" or an array of strings'),
});
