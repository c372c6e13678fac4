// The channel of a decision, which is recorded with it.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';

const CHANNELS = ['api', 'inbox', 'chat', 'cli'] as const;
/** The channel of a decision. */
export type Channel = (typeof CHANNELS)[number];

export const ChannelHeaders = z.object({
  'x-countersign-channel': z.enum(CHANNELS).optional().openapi({ description: '`api` by default.' }),
});

export function channelOf(request: Request): Channel {
  const said = request.headers.get('x-countersign-channel');
  const channel = said === null ? 'api' : CHANNELS.find((known) => known === said);
  if (channel) return channel;
  throw new UsageError(
    'invalid-request',
    { status: 400 },
    `The header x-countersign-channel must be one of ${CHANNELS.join(', ')}.`,
  );
}
