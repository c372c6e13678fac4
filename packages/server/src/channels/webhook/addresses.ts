// Which addresses a webhook may be sent to: public ones with https, and those that the operator allows.
import { type BlockList, isIP } from 'node:net';
import { UsageError } from 'countersign';
import { networksOf } from '../../http/networks.ts';

/**
 * Receivers that are not on the public internet. `private` allows loopback and private networks. A host name allows them for
 * this host only, and http. An address or a range, such as `10.1.0.0/16`, allows exactly these addresses, whichever they are.
 */
export type Allow = 'private' | readonly string[];

/** Says why a request to this URL must not go to this address; undefined if it may. */
export type AddressRule = (url: URL, address: string) => string | undefined;

export function addressRule(allow: Allow = []): AddressRule {
  const entries = allow === 'private' ? [] : allow;
  const hosts = new Set(entries.filter((entry) => HOST.test(entry) && isIP(entry) === 0).map(hostName));
  const ranges = listOf(entries.filter((entry) => !hosts.has(hostName(entry))));
  return (url, given) => {
    const address = normalized(given);
    if (address === undefined) return `${given} is not an address`;
    if (contains(ranges, address)) return undefined;
    const isNamed = hosts.has(hostName(url.hostname));
    if ((isNamed || allow === 'private') && contains(PRIVATE, address) && !contains(METADATA, address))
      return undefined;
    if (!isPublic(address)) return `${given} is a private or reserved address; name it in \`allow\` if you trust it`;
    if (url.protocol === 'http:' && !isNamed) return 'http is not encrypted; use https, or name the host in `allow`';
    return undefined;
  };
}

/** The host of a URL as a name or an address, without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** What is wrong with an address in the URL itself, which is known before anything is sent. That of a name is found out later. */
export function refusedAddress(url: URL, refusal: AddressRule): string | undefined {
  const host = hostOf(url);
  return isIP(host) === 0 ? undefined : refusal(url, host);
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;

const hostName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

const listOf = (entries: readonly string[]): BlockList =>
  networksOf(entries, (entry, cause) => {
    const message = `\`allow\` of webhook() takes host names, addresses and ranges such as 10.0.0.0/8, not ${JSON.stringify(entry)}.`;
    return new UsageError('invalid-options', { option: 'allow', entry }, message, { cause });
  });

type Address = { readonly text: string; readonly family: 'ipv4' | 'ipv6' };

const contains = (list: BlockList, { text, family }: Address): boolean => list.check(text, family);

/** An IPv6 address that stands for an IPv4 address (mapped, or translated by NAT64) is judged as that one. */
function normalized(address: string): Address | undefined {
  if (isIP(address) === 4) return { text: address, family: 'ipv4' };
  const text = isIP(address) === 6 ? compressed(address) : undefined;
  if (text === undefined) return undefined;
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([\da-f]{1,4}):([\da-f]{1,4})$/.exec(text) ?? [];
  if (high === undefined || low === undefined) return { text, family: 'ipv6' };
  const words = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return { text: words.flatMap((word) => [word >> 8, word & 255]).join('.'), family: 'ipv4' };
}

/** The shortest form. Undefined for an address with a zone, which is never public. */
const compressed = (address: string): string | undefined => {
  const url = `http://[${address}]`;
  return URL.canParse(url) ? hostOf(new URL(url)) : undefined;
};

const isPublic = (address: Address): boolean =>
  address.family === 'ipv4' ? !contains(RESERVED, address) : contains(UNICAST, address) && !contains(RESERVED, address);

const PRIVATE = listOf(
  ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'].concat(['::1', 'fc00::/7']),
);

/** Services of clouds that hand out credentials: AWS, Google and Alibaba, as far as they are in private ranges. */
const METADATA = listOf(['100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']);

/** The part of IPv6 that is assigned to the public internet. */
const UNICAST = listOf(['2000::/3']);

/** From the registries of special-purpose addresses, and the platform address of Azure, 168.63.129.16. */
const RESERVED = listOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
