// What the server does for its channels. Decisions take the path of the API, with the same checks.
import { UsageError } from 'countersign';
import { freezeAs, liftAs } from '../api/freezes.ts';
import { decidableRequest, recordDecision } from '../api/record-decision.ts';
import type { Services } from '../api/services.ts';
import { personById } from '../identity/person-by-id.ts';
import type { AppOptions } from '../options.ts';
import type { ChannelHost, ServerChannel } from './server-channel.ts';

/** `publicUrl`: with the base path, without a slash at its end. */
export function channelHost(
  services: Services,
  options: Pick<AppOptions, 'identifyPerson'>,
  { name: channel }: Pick<ServerChannel, 'name'>,
  publicUrl: string,
): ChannelHost {
  const { access, log } = services;
  return {
    publicUrl,
    personOf: (id) => personById(options, id),
    async request(requestId, person) {
      return person.scopes.includes('read') ? access.find(requestId, person) : undefined;
    },
    async decide(requestId, person, { decision, digest, note }) {
      if (!person.scopes.includes('decide'))
        throw new UsageError('not-allowed', { status: 403, requestId }, `${person.id} cannot decide requests.`);
      const asked = { decision: decision as never, digest, ...(note !== undefined && { note }) };
      const seen = await decidableRequest(services, requestId, person, asked);
      return recordDecision(services, seen, { person, channel, address: new URL(publicUrl) }, asked);
    },
    freeze: (person, freeze) => freezeAs(services, person, freeze, channel),
    lift: (person, freezeId) => liftAs(services, person, freezeId, undefined, channel),
    log: (level, message, details = {}) => log(level, message, details),
  };
}
