// Connects channels with the server: notices link to its pages, and go only to people with access to the request.
import type { Json, RunRequest } from 'countersign';
import type { Recipient } from 'countersign/store';
import { requestCard } from 'countersign/ui';
import { isByDefault } from '../access.ts';
import type { Services } from '../api/services.ts';
import { peopleOn } from '../identity/names.ts';
import { personById } from '../identity/person-by-id.ts';
import type { AppOptions } from '../options.ts';

type MakeLink = (request: RunRequest, to: Recipient, channel: string) => Promise<string | undefined>;

/** Adds the channels of the options to those of the instance. `decisionLink`: undefined if people do not decide by links. */
export function connectChannels(
  { ai, access, log }: Services,
  options: AppOptions,
  decisionLink: MakeLink | undefined,
): void {
  const { channels = [], publicUrl, basePath = '' } = options;
  // A second app may serve the same instance.
  for (const channel of channels) {
    channel.connect?.(ai.runs.notes);
    if (ai.notices.here.get(channel.name) !== channel) ai.notices.add(channel);
  }
  if (ai.notices.here.size > 0 && publicUrl === undefined)
    log('warn', 'channels', { message: 'Notices have no links: pass `publicUrl`, the address that people use.' });
  ai.notices.host({
    isForEveryone: isByDefault,
    describe: async (request) => {
      const card = requestCard(request, ai.agents.get(request.agent), false);
      const inputSchema = card.inputSchema as { readonly [key: string]: Json } | null;
      return { inputSchema, names: await access.names.of(peopleOn(card)) };
    },
    mayRead: async (request, id) => {
      const person = await personById(options, id);
      return person?.scopes.includes('read') === true && (await access.seen(request, person, null)) !== undefined;
    },
    links: async (request, { channel, recipient }) => {
      if (publicUrl === undefined) return null;
      const page = `${publicUrl.replace(/\/$/, '')}${basePath}/requests/${encodeURIComponent(request.id)}`;
      const decide = recipient ? await decisionLink?.(request, recipient, channel) : undefined;
      return { request: page, ...(decide !== undefined && { decide }) };
    },
  });
}
