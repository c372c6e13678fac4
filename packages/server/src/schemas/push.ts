// Schemas of browser notifications.
import { z } from '@hono/zod-openapi';

export const PushShape = z
  .object({
    publicKey: z.string().nullable().openapi({ description: 'The VAPID key; null if this server does not push.' }),
  })
  .openapi('Push');

/** Base64url, of as many bytes. */
const bytes = (count: number) =>
  z.string().refine((text) => /^[\w-]+=*$/.test(text) && Buffer.from(text, 'base64url').length === count, {
    message: `must be ${count} bytes in base64url`,
  });

export const SubscriptionShape = z
  .object({
    endpoint: z.string().max(2_000).openapi({ description: 'The address at the push service; https.' }),
    keys: z.object({ p256dh: bytes(65), auth: bytes(16) }),
  })
  .openapi('PushSubscription');
