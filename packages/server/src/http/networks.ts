// Lists of addresses and networks, as options name them.
import { BlockList, isIP } from 'node:net';

/** Addresses, and ranges such as `10.0.0.0/8`. Throws what `refuse` makes of an entry that is neither. */
export function networksOf(entries: readonly string[], refuse: (entry: string, cause?: unknown) => Error): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(String(entry)) ?? [];
    const family = familyOf(address);
    if (family === undefined) throw refuse(entry);
    try {
      list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
    } catch (cause) {
      throw refuse(entry, cause);
    }
  }
  return list;
}

export function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}

/** The network of a client: its address, and for IPv6 the first half of it, because a client has all addresses of the other half. */
export function networkOf(address = 'unknown'): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (familyOf(plain) !== 'ipv6') return plain;
  const [before = [], after = []] = plain.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const missing = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...missing, ...after].slice(0, 4).join(':');
}
