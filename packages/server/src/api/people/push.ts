// Browser notifications of the caller: /me/push.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { isPushChannel, type PushChannel } from '../../channels/push/web-push.ts';
import { endpoint, json } from '../../http/endpoint.ts';
import { sessionCookie, sessionKeyOf } from '../../identity/sessions.ts';
import { PushShape, SubscriptionShape } from '../../schemas/push.ts';
import type { Services } from '../services.ts';

const tag = 'Notices';
const answers = { 200: { description: 'How this server pushes.', shape: PushShape } };

export function pushEndpoints({ ai, addressOf }: Services) {
  const found = (): PushChannel | undefined => [...ai.notices.here.values()].find(isPushChannel);
  const needed = (): PushChannel => {
    const channel = found();
    if (channel) return channel;
    throw new UsageError('not-found', { status: 404 }, 'This server does not push notifications to browsers.');
  };
  const about = () => json({ publicKey: found()?.publicKey ?? null });
  return [
    endpoint({
      route: 'GET /me/push',
      operationId: 'getPush',
      summary: 'Get the key that browsers subscribe with',
      tag,
      scope: 'read',
      answers,
      handle: about,
    }),
    endpoint({
      route: 'POST /me/push',
      operationId: 'subscribePush',
      summary: 'Notify the caller in this browser',
      description:
        'Not with an API token. The body is the subscription that the browser made. A browser belongs to the person who ' +
        'subscribed last, until the session ends.',
      tag,
      scope: 'read',
      body: SubscriptionShape,
      answers,
      problems: [404],
      handle: async ({ body, person, proof, request }) => {
        const channel = needed();
        if (proof === 'token') throw notByToken();
        channel.checkEndpoint(body.endpoint);
        const cookie = sessionCookie(addressOf(request));
        const session = proof === 'session' ? sessionKeyOf(cookie, request.headers.get('cookie')) : undefined;
        await channel.subscriptions().add(person.id, body, session);
        return about();
      },
    }),
    endpoint({
      route: 'DELETE /me/push',
      operationId: 'unsubscribePush',
      summary: 'Notify the caller no longer in this browser',
      tag,
      scope: 'read',
      query: z.object({ endpoint: z.string().max(2_000) }),
      answers,
      problems: [404],
      handle: async ({ query, person }) => {
        await needed().subscriptions().remove(person.id, query.endpoint);
        return about();
      },
    }),
  ];
}

function notByToken(): UsageError {
  const message = 'Pushes go to the browser of a person. Sign in with it to subscribe; an API token cannot.';
  return new UsageError('not-allowed', { status: 403 }, message);
}
