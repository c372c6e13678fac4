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

function portOf(text: string | undefined): number | undefined {
  const port = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : undefined;
}
