// Which names this server answers to: a page of another site can point its own name at this machine.
import { UsageError } from 'countersign';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Undefined: any. */
export type HostNames = ReadonlySet<string> | undefined;

export function refuseOtherHosts({ hostname, host }: URL, names: HostNames): void {
  if (names === undefined || names.has(hostname) || names.has(host)) return;
  throw new UsageError('not-allowed', { status: 421 }, 'This server does not answer to the name it was called by.');
}

/** Whether only this machine reaches a server that is bound to this address. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.has(hostname) || hostname === '::1' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
