// The addresses of channels: what Slack and the like send arrives at `/channels/NAME`.
import { UsageError } from 'countersign';
import type { Context, Hono } from 'hono';
import type { Services } from '../api/services.ts';
import type { AppOptions } from '../options.ts';
import { channelHost } from './host.ts';

/** A channel checks by itself who sent a request. Unknown channels, and those that take no answers, do not exist. */
export function mountChannels(hono: Pick<Hono, 'all'>, services: Services, options: AppOptions): void {
  const { channels = [], basePath = '' } = options;
  const answer = (context: Context): Promise<Response> => {
    const name = context.req.param('name');
    const channel = channels.find((one) => one.name === name);
    if (!channel?.receive)
      throw new UsageError('not-found', { status: 404 }, `${context.req.path.slice(0, 200)} not found.`);
    const { origin } = services.addressOf(context.req.raw);
    return channel.receive(context.req.raw, channelHost(services, options, channel, `${origin}${basePath}`));
  };
  hono.all('/channels/:name', answer);
  hono.all('/channels/:name/*', answer);
}
