// Where a server listens, as options of a command.
import type { Invocation, Options } from './command.ts';
import { usageFailure } from './failure.ts';

export const ADDRESS_OPTIONS: Options = {
  port: { value: 'number', summary: '0 for any that is free; 3000 unless given, also PORT' },
  host: { value: 'address', summary: '127.0.0.1 unless given: only this machine reaches it' },
  'public-url': { value: 'url', summary: 'where browsers reach it, as in https://approvals.example.com' },
};

export type Address = { readonly port: number; readonly hostname: string; readonly publicUrl?: string };

export function addressOptions(invocation: Invocation): Address {
  const publicUrl = invocation.text('public-url');
  if (publicUrl !== undefined && !(URL.canParse(publicUrl) && /^https?:/.test(publicUrl)))
    throw usageFailure(`--public-url is an address such as https://approvals.example.com, not “${publicUrl}”.`);
  return {
    port: invocation.whole('port', 0, 65_535) ?? portOf(process.env.PORT) ?? 3000,
    hostname: invocation.text('host') ?? '127.0.0.1',
    ...(publicUrl !== undefined && { publicUrl }),
  };
}

/** Whoever set it waits there: another port would be taken for a server that did not start. */
function portOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw usageFailure(`PORT is a whole number from 0 to 65535, not “${text}”.`, 'Correct it, or pass --port.');
}
