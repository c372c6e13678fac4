// Where the runs are, as options of a command.
import type { Invocation, Options } from './command.ts';
import { DEFAULT_STORE } from './store-address.ts';

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
