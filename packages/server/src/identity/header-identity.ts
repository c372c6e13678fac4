// Identity from a header that a reverse proxy sets after its own login.
import { BlockList, isIP } from 'node:net';
import { UsageError } from 'countersign';
import { keysOf, refuseUnknownKeys } from '../known-keys.ts';
import type { Identify } from './identify.ts';
import type { Identified } from './person.ts';

export type HeaderIdentityOptions = {
  /** The header that names the person, such as `x-forwarded-user`. */
  readonly header: string;
  /** Whose requests are believed: addresses and networks such as `10.0.0.0/8`. Everybody else is nobody. */
  readonly trustedProxies: readonly string[];
  /** What else is known of the person; all scopes and the own runs unless given. */
  readonly person?: (id: string, request: Request) => Identified | null;
};

/**
 * Believes a header, but only from the proxies that are named: anybody else could write it themselves.
 * @example
 * createApp(ai, { identify: headerIdentity({ header: 'x-forwarded-user', trustedProxies: ['127.0.0.1'] }) });
 */
export function headerIdentity(options: HeaderIdentityOptions): Identify {
  refuseUnknownKeys('headerIdentity', options, KEYS);
  const { header, trustedProxies, person } = options;
  // Of a name that is undefined a text would be made, and a header that is called so can be sent by anybody.
  if (typeof header !== 'string' || !HEADER.test(header))
    throw new UsageError('invalid-options', {}, '`header` of headerIdentity must be the name of a header.');
  const trusted = blockList(trustedProxies);
  return (request, { address }) => {
    if (address === undefined || !isTrusted(trusted, address)) return null;
    const id = request.headers.get(header);
    // Several values mean that a client wrote one of them and the proxy did not take it away.
    if (id === null || id === '' || id.includes(',')) return null;
    return person ? person(id, request) : { id };
  };
}

const HEADER = /^[\w!#$%&'*+.^`|~-]+$/;
const KEYS = keysOf<HeaderIdentityOptions>({ header: true, trustedProxies: true, person: true });

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  if (!Array.isArray(networks) || networks.length === 0) throw invalid('names no proxy');
  for (const network of networks) {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(String(network)) ?? [];
    const family = familyOf(address);
    const most = family === 'ipv4' ? 32 : 128;
    const length = bits === undefined ? most : Number(bits);
    if (!family || length > most) throw invalid(`has ${JSON.stringify(network)}, which is no address`);
    list.addSubnet(address, length, family);
  }
  return list;
}

function isTrusted(list: BlockList, address: string): boolean {
  // An IPv4 connection on an IPv6 socket.
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = familyOf(plain);
  return family !== undefined && list.check(plain, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}

function invalid(problem: string): UsageError {
  return new UsageError('invalid-options', {}, `\`trustedProxies\` ${problem}.`);
}
