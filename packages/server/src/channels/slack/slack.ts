// The channel `slack`: messages about requests, with buttons and forms that decide them.
import { z } from '@hono/zod-openapi';
import type { Json, Notice } from 'countersign';
import type { NoticeType } from 'countersign/request';
import { aFunction, aString, checkOptions, isStrings, option, optionsOf } from '../../check-options.ts';
import { visibleLine } from '../../text/visible-text.ts';
import { DeliveryError } from '../delivery-error.ts';
import type { ServerChannel } from '../server-channel.ts';
import { sampleNotice } from '../webhook/sample-notice.ts';
import { escaped } from './blocks.ts';
import { interactions, type People } from './interactions.ts';
import { digestOf, type Message, messageOf, outlineOf, replyOf } from './message.ts';
import { requestCheck } from './signature.ts';
import { SlackError, webApi } from './web-api.ts';

export type SlackOptions = {
  /** `slack` by default. Slack sends what people press to `/channels/NAME` of the server. */
  readonly name?: string;
  /** The bot token of the app, `xoxb-…`. It needs the scope `chat:write`. */
  readonly token: string;
  /** The signing secret of the app. Several are accepted while one replaces another. */
  readonly signingSecret: string | readonly string[];
  /** The id of a channel, such as `C0123456789`: everyone there sees every request. Without it, each person gets a direct message. */
  readonly channel?: string;
  /** The id of the person behind a Slack user. Presses of others are refused. By default nobody can decide in Slack. */
  readonly people?: People;
  /** The address of the Web API; `https://slack.com/api` by default. */
  readonly api?: string;
};

/**
 * Makes a channel that posts requests to Slack, in one channel for everyone or as direct messages to the Slack id of each
 * person's contact. People decide with the buttons of the message. What Slack cannot show whole has a link instead of buttons.
 * @example
 * slack({ token, signingSecret, channel: 'C0123456789', people: (user) => directory.personBySlackId(user) })
 */
export function slack(options: SlackOptions): ServerChannel {
  checkOptions('slack', SlackShape, options);
  const { name = 'slack', token, signingSecret, channel, people = () => undefined } = options;
  const api = webApi(token, (options.api ?? 'https://slack.com/api').replace(/\/$/, ''));
  const check = requestCheck([signingSecret].flat());
  const answer = interactions(api, people);
  const working = new Set<Promise<void>>();

  const post = async (to: string, message: Message, signal?: AbortSignal, reply = {}): Promise<Receipt> => {
    const posted = await api('chat.postMessage', { channel: to, ...QUIET, ...message, ...reply }, signal);
    return { channel: String(posted.channel), ts: String(posted.ts) };
  };

  return {
    name,
    audience: channel === undefined ? 'person' : 'shared',
    async deliver(notice, { signal, sent }) {
      const first = receiptIn(sent);
      // The first message has the buttons, and is changed when the request is over. Later ones are replies to it.
      if (first && REPLIES.has(notice.type)) {
        const reply = { thread_ts: first.ts, reply_broadcast: true };
        const isSent = await unless('thread_not_found', post(first.channel, replyOf(notice), signal, reply));
        if (isSent) return first;
      }
      return whole(notice, (message) => post(channel ?? addressOf(notice), message, signal));
    },
    async update(notice, sent, { signal }) {
      const first = receiptIn(sent);
      if (!first) return;
      // A user may have deleted the message. Then there is nothing to change.
      await unless(
        'message_not_found',
        whole(notice, (message) => api('chat.update', { ...first, ...QUIET, ...message }, signal)),
      );
    },
    async digest(notices, { signal }) {
      const [first] = notices;
      if (first) await post(channel ?? addressOf(first), digestOf(notices), signal);
    },
    async inform({ contact, delegate, from, until, by }, { signal }) {
      // A direct message: it is nobody else's business.
      if (contact.slack === undefined) return;
      const [begin, end] = [from, until].map((at) => new Date(at).toISOString());
      const text = `${by} named ${delegate} as your delegate, who may decide requests for you from ${begin} until ${end}. If you did not want this, end your absence in the inbox, and tell your administrator.`;
      await api('chat.postMessage', { channel: contact.slack, ...QUIET, text: escaped(visibleLine(text)) }, signal);
    },
    async receive(request, host) {
      const checked = await check(request);
      if ('status' in checked) return new Response(null, { status: checked.status });
      return answer(checked.body, host, (work) => {
        working.add(work);
        work.finally(() => working.delete(work)).catch((error: unknown) => host.log('error', 'slack', { error }));
      });
    },
    async check() {
      await api('auth.test', {});
    },
    async close() {
      await Promise.allSettled(working);
    },
    async sample(to) {
      const at = to === '' && channel !== undefined ? channel : to;
      await post(at, messageOf(sampleNotice('opened')));
      return `Posted a sample to ${at} in Slack.`;
    },
  };
}

type Receipt = { readonly channel: string; readonly ts: string };

/** They say nothing about the request that its message does not say. */
const REPLIES: ReadonlySet<NoticeType> = new Set(['reminded', 'escalated', 'assigned', 'commented']);

/** Pages and pictures behind links are not shown. */
const QUIET = { unfurl_links: false, unfurl_media: false } as const;

const SlackShape = optionsOf<SlackOptions>({
  name: option(
    (value) => typeof value === 'string' && /^[A-Za-z\d-]+$/.test(value),
    'must have letters, digits and dashes only',
  ),
  token: z.custom((value) => typeof value === 'string' && value !== '', 'must be the bot token of the app'),
  signingSecret: z.custom(areSecrets, 'must be the signing secret of the app, or an array of them'),
  channel: option(
    (value) => typeof value === 'string' && /^[A-Z\d]+$/.test(value),
    'must be the id of a channel, such as C0123456789',
  ),
  people: aFunction,
  api: aString,
});

function areSecrets(value: unknown): boolean {
  const secrets: unknown = [value].flat();
  return isStrings(secrets) && secrets.length > 0 && secrets.every((secret) => secret.length >= 16);
}

function receiptIn(sent: Json | undefined): Receipt | undefined {
  const { channel, ts } = (sent ?? {}) as Partial<Receipt>;
  return typeof channel === 'string' && typeof ts === 'string' ? { channel, ts } : undefined;
}

function addressOf({ to: [recipient] }: Notice): string {
  const address = recipient?.contact.slack;
  if (address !== undefined && address !== '') return address;
  throw new DeliveryError(`${recipient?.person ?? 'The recipient'} has no Slack id in the directory (contact.slack).`, {
    retryable: false,
    unreachable: true,
  });
}

/** Slack counts a little differently from what it publishes. A message that it finds too long has only a link. */
async function whole<Sent>(notice: Notice, send: (message: Message) => Promise<Sent>): Promise<Sent> {
  return send(messageOf(notice)).catch((error: unknown) => {
    if (error instanceof SlackError && TOO_LONG.has(error.code)) return send(outlineOf(notice));
    throw error;
  });
}

const TOO_LONG: ReadonlySet<string> = new Set(['invalid_blocks', 'msg_blocks_too_long', 'msg_too_long']);

/** Undefined if Slack refuses with this code. */
const unless = <Sent>(code: string, sending: Promise<Sent>): Promise<Sent | undefined> =>
  sending.catch((error: unknown) => {
    if (error instanceof SlackError && error.code === code) return undefined;
    throw error;
  });
