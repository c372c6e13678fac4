// Notices: channels and their deliveries, for callers who reach everything; and what the caller wants to be told.
import type { NoticePreferences } from 'countersign/store';
import { defined } from '../../defined.ts';
import { endpoint, json } from '../../http/endpoint.ts';
import type { Person } from '../../identity/person.ts';
import {
  ChannelStatusesShape,
  DeadLettersShape,
  DeliveriesShape,
  DeliveryQueryShape,
  MyNoticesShape,
  NoticePreferencesShape,
  ResendShape,
  RetriedShape,
  RetryShape,
} from '../../schemas/notices.ts';
import type { Services } from '../services.ts';

const tag = 'Notices';

export function noticeEndpoints({ ai }: Services) {
  const mine = async ({ id }: Person) => ({
    preferences: await ai.notices.preferencesOf(id),
    channels: (await ai.notices.channels()).filter(({ audience }) => audience === 'person').map(({ name }) => name),
  });
  const preferencesAnswers = { 200: { description: 'What the caller wants to be told.', shape: MyNoticesShape } };

  return [
    endpoint({
      route: 'GET /notices/channels',
      operationId: 'listChannels',
      summary: 'List channels',
      description: 'The channels that any process has, with what waits and what failed.',
      tag,
      scope: 'read',
      reach: 'all',
      answers: { 200: { description: 'The channels.', shape: ChannelStatusesShape } },
      handle: async () => json({ items: [...(await ai.notices.channels())] }),
    }),
    endpoint({
      route: 'GET /notices/deliveries',
      operationId: 'listDeliveries',
      summary: 'List deliveries',
      description: 'Deliveries of the last seven days, newest first.',
      tag,
      scope: 'read',
      reach: 'all',
      query: DeliveryQueryShape,
      answers: { 200: { description: 'A page of deliveries.', shape: DeliveriesShape } },
      handle: async ({ query }) => json(await ai.notices.log(defined(query))),
    }),
    endpoint({
      route: 'GET /notices/dead',
      operationId: 'listDeadLetters',
      summary: 'List dead letters',
      description: 'Notices that no channel could deliver and that are not tried again by themselves.',
      tag,
      scope: 'read',
      reach: 'all',
      query: DeliveryQueryShape,
      answers: { 200: { description: 'A page of dead letters.', shape: DeadLettersShape } },
      handle: async ({ query }) => json(await ai.notices.dead(defined(query))),
    }),
    endpoint({
      route: 'POST /notices/retry',
      operationId: 'retryDelivery',
      summary: 'Try a dead letter again',
      tag,
      scope: 'decide',
      reach: 'all',
      body: RetryShape,
      answers: { 200: { description: 'Whether it existed.', shape: RetriedShape } },
      handle: async ({ body: { channel, id } }) => json({ retried: await ai.notices.retry(channel, id) }),
    }),
    endpoint({
      route: 'POST /notices/resend',
      operationId: 'resendNotice',
      summary: 'Deliver the last notice about a request again',
      description: 'To everyone who was told, with the same idempotency key.',
      tag,
      scope: 'decide',
      reach: 'all',
      body: ResendShape,
      problems: [404],
      answers: { 200: { description: 'It is delivered again soon.', shape: RetriedShape } },
      handle: async ({ body: { channel, requestId } }) => {
        await ai.notices.resend(channel, requestId);
        return json({ retried: true });
      },
    }),
    endpoint({
      route: 'GET /me/notices',
      operationId: 'getMyNotices',
      summary: 'Get what the caller wants to be told',
      tag,
      scope: 'read',
      answers: preferencesAnswers,
      handle: async ({ person }) => json(await mine(person)),
    }),
    endpoint({
      route: 'POST /me/notices',
      operationId: 'setMyNotices',
      summary: 'Change what the caller wants to be told',
      description: 'Replaces all of it.',
      tag,
      scope: 'read',
      body: NoticePreferencesShape,
      answers: preferencesAnswers,
      handle: async ({ body, person }) => {
        await ai.notices.setPreferences(person.id, body as NoticePreferences);
        return json(await mine(person));
      },
    }),
  ];
}
