// Host check against DNS rebinding: a page can point its own host name at this machine.
import { UsageError } from 'countersign';

export const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The allowed host names; undefined for any. */
export type HostNames = ReadonlySet<string> | undefined;

export function refuseOtherHosts({ hostname, host }: URL, names: HostNames): void {
  if (names === undefined || names.has(hostname) || names.has(host)) return;
  throw new UsageError('not-allowed', { status: 421 }, 'This server does not answer to this host name.');
}

/** Whether only this machine reaches a server on this address. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.has(hostname) || hostname === '::1' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
