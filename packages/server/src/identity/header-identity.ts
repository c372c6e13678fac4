// Identity from a header that a reverse proxy sets after its own login.
import type { BlockList } from 'node:net';
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { aFunction, checkOptions, option, optionsOf } from '../check-options.ts';
import { familyOf, networksOf } from '../http/networks.ts';
import type { Identify } from './identify.ts';
import { type Identified, isRole, MOST_ROLES } from './person.ts';

export type HeaderIdentityOptions = {
  /** The header that names the person, such as `x-forwarded-user`. */
  readonly header: string;
  /** The addresses and networks, such as `10.0.0.0/8`, whose header is trusted. */
  readonly trustedProxies: readonly string[];
  /**
   * The header with the person's roles, separated by commas, such as `x-forwarded-groups`; none by default. The proxy must
   * set it on every request, or remove it: otherwise a client can give itself roles.
   */
  readonly rolesHeader?: string;
  /** Adds details of the person; all scopes and their own runs by default. */
  readonly person?: (id: string, request: Request) => Identified | null;
};

/**
 * Trusts a header from the named proxies only, because any other client could set it.
 * @example
 * createApp(ai, { identify: headerIdentity({ header: 'x-forwarded-user', trustedProxies: ['127.0.0.1'] }) });
 */
export function headerIdentity(options: HeaderIdentityOptions): Identify {
  checkOptions('headerIdentity', HeaderIdentityShape, options);
  const { header, trustedProxies, rolesHeader, person } = options;
  const trusted = blockList(trustedProxies);
  return (request, { address }) => {
    if (address === undefined || !isTrusted(trusted, address)) return null;
    const id = request.headers.get(header);
    // Several values mean that the client sent one too and the proxy did not remove it.
    if (id === null || id === '' || id.includes(',')) return null;
    const found = person ? person(id, request) : { id };
    return found && rolesHeader !== undefined ? { roles: rolesIn(request.headers.get(rolesHeader)), ...found } : found;
  };
}

const HEADER = /^[\w!#$%&'*+.^`|~-]+$/;
const isHeader = (value: unknown): boolean => typeof value === 'string' && HEADER.test(value);
const NO_HEADER = 'must be the name of a header';
const HeaderIdentityShape = optionsOf<HeaderIdentityOptions>({
  // `undefined` would become a header name that any client could send.
  header: z.custom(isHeader, NO_HEADER),
  trustedProxies: z.any().optional(),
  rolesHeader: option(isHeader, NO_HEADER),
  person: aFunction,
});

function rolesIn(header: string | null): readonly string[] {
  const roles = (header ?? '').split(',').map((role) => role.trim());
  return roles.filter(isRole).slice(0, MOST_ROLES);
}

function blockList(networks: readonly string[]): BlockList {
  if (!Array.isArray(networks) || networks.length === 0) throw invalid('names no proxy');
  return networksOf(networks, (network) => invalid(`has ${JSON.stringify(network)}, which is not an address`));
}

function isTrusted(list: BlockList, address: string): boolean {
  // An IPv4 connection on an IPv6 socket.
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = familyOf(plain);
  return family !== undefined && list.check(plain, family);
}

function invalid(problem: string): UsageError {
  return new UsageError('invalid-options', {}, `\`trustedProxies\` ${problem}.`);
}
