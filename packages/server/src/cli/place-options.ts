// Where the runs are, as options of a command.
import type { Invocation, Options } from './command.ts';
import { usageFailure } from './failure.ts';
import { DEFAULT_STORE } from './runtime/store-address.ts';

export const STORE_OPTIONS: Options = {
  store: { value: 'address', summary: 'sqlite:./file.sqlite or postgres://…, also COUNTERSIGN_STORE' },
  agents: { value: 'file', summary: 'the file with your agents; countersign.config.ts or agents.ts unless given' },
};

export const DESK_OPTIONS: Options = {
  ...STORE_OPTIONS,
  url: { value: 'url', summary: 'work through a running server, also COUNTERSIGN_URL' },
  token: { value: 'token', summary: 'for the server, better given as COUNTERSIGN_TOKEN' },
};

/** The address of the store. */
export const addressOf = (invocation: Invocation): string =>
  invocation.text('store') ?? process.env.COUNTERSIGN_STORE ?? DEFAULT_STORE;

/** The address of a server, where one is asked for: a store that is named here goes before the environment. */
export function serverOf(invocation: Invocation): string | undefined {
  const isStoreNamed = invocation.has('store') || invocation.has('agents');
  const url = invocation.text('url') ?? (isStoreNamed ? undefined : process.env.COUNTERSIGN_URL);
  if (url === undefined || url === '') return undefined;
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '');
  throw usageFailure(`“${url}” is no address of a server.`, 'As in: --url https://approvals.example.com');
}

export const tokenOf = (invocation: Invocation): string | undefined =>
  invocation.text('token') ?? process.env.COUNTERSIGN_TOKEN;
