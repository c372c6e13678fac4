// Schemas of notices: channels, their deliveries, and what a person wants to be told.
import { z } from '@hono/zod-openapi';
import { nameShape, pageOf, pageQuery } from './page.ts';
import { requestIdShape } from './request.ts';

export const NOTICE_TYPES = [
  'opened',
  'doubt',
  'reminded',
  'escalated',
  'assigned',
  'commented',
  'decided',
  'expired',
  'withdrawn',
  'done',
  'failed',
  'unknown',
  'not-run',
] as const;

export const ChannelStatusShape = z
  .object({
    name: z.string(),
    audience: z.enum(['person', 'shared']).openapi({ description: '`person`: one delivery for each recipient.' }),
    all: z.boolean().openapi({ description: 'It gets every notice, also about requests that are over.' }),
    lastSeenAt: z.number().openapi({ description: 'When a process with this channel was last seen.' }),
    waiting: z.int().openapi({ description: 'Notices that wait to be delivered; 1,000 means 1,000 or more.' }),
    dead: z.int().openapi({ description: 'Notices that were given up; 1,000 means 1,000 or more.' }),
    lastDeliveredAt: z.number().nullable(),
    lastError: z.string().nullable().openapi({ description: 'The last failure since the last delivery.' }),
  })
  .openapi('ChannelStatus');

/** A channel, with what waits and what failed. */
export type ChannelStatus = Readonly<z.infer<typeof ChannelStatusShape>>;

export const ChannelStatusesShape = z.object({ items: z.array(ChannelStatusShape) }).openapi('ChannelStatuses');

const DeadLetterShape = z
  .object({
    id: z.string().openapi({ description: 'Names it when it is tried again.' }),
    channel: z.string(),
    requestId: z.string(),
    person: z.string().nullable().openapi({ description: 'Null on a shared channel.' }),
    types: z.array(z.enum(NOTICE_TYPES)),
    attempts: z.int(),
    error: z.string(),
    at: z.number(),
  })
  .openapi('DeadLetter');

/** A notice that a channel could not deliver. */
export type DeadLetter = Readonly<z.infer<typeof DeadLetterShape>>;

export const DeadLettersShape = pageOf(DeadLetterShape).openapi('DeadLetters');

const DeliveryShape = z
  .object({
    id: z.string(),
    channel: z.string(),
    type: z.enum(NOTICE_TYPES).nullable(),
    number: z.int().openapi({ description: 'Which reminder or escalation it is, from 1; 0 for other notices.' }),
    requestId: z.string(),
    person: z.string().nullable().openapi({ description: 'Null on a shared channel.' }),
    outcome: z.enum(['delivered', 'failed', 'given-up', 'refused', 'off', 'unreachable']).openapi({
      description:
        '`refused`: the person may not read the request. `off`: they do not want it. `unreachable`: the person who asked has no address.',
    }),
    attempt: z.int(),
    error: z.string().nullable(),
    ms: z.number(),
    at: z.number(),
  })
  .openapi('Delivery');

/** One attempt to deliver a notice. */
export type Delivery = Readonly<z.infer<typeof DeliveryShape>>;

export const DeliveriesShape = pageOf(DeliveryShape).openapi('Deliveries');

const channelShape = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a channel');

export const DeliveryQueryShape = z.strictObject({ channel: channelShape.optional(), ...pageQuery });

export const RetryShape = z
  .strictObject({ channel: channelShape, id: z.string().min(1).max(1_000) })
  .openapi('RetryDelivery');

export const ResendShape = z.strictObject({ channel: channelShape, requestId: requestIdShape }).openapi('Resend');

export const RetriedShape = z.object({ retried: z.boolean() }).openapi('Retried');

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 22:00');

export const NoticePreferencesShape = z
  .strictObject({
    channels: z
      .record(channelShape, z.boolean())
      .optional()
      .openapi({ description: 'Channels by name; false for one that is off.' }),
    quiet: z
      .strictObject({ from: timeOfDay, until: timeOfDay, timeZone: nameShape })
      .optional()
      .openapi({ description: 'Notices wait until these hours are over, unless the risk is high.' }),
    digest: z.enum(['burst', 'low-risk', 'all', 'off']).optional().openapi({
      description:
        'Which notices come together: those within two minutes (`burst`, the default), also those of low risk at the full hour, all at the full hour, or none.',
    }),
  })
  .openapi('NoticePreferences');

export const MyNoticesShape = z
  .object({
    preferences: NoticePreferencesShape,
    channels: z.array(z.string()).openapi({ description: 'The channels that reach people one by one.' }),
  })
  .openapi('MyNotices');

/** What a person wants to be told, and the channels that can tell them. */
export type MyNotices = Readonly<z.infer<typeof MyNoticesShape>>;
