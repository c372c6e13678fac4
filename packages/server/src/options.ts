// The options of a server.
import { WHILE_PENDING, type WhilePending } from 'countersign/ui';
import type { Policies } from './access.ts';
import type { ServerChannel } from './channels/server-channel.ts';
import { aBoolean, aFunction, aNumber, aString, isStrings, option, optionsOf } from './check-options.ts';
import type { Identify } from './identity/identify.ts';
import type { Identified } from './identity/person.ts';
import type { LinkOptions } from './links/link-options.ts';
import type { LogSink } from './log.ts';
import type { McpOptions } from './mcp/own-requests.ts';
import type { SignInIssuer } from './sign-in/issuers.ts';

/** The options of `createApp`. */
export type AppOptions = Policies & {
  /** Identifies the caller of a request without an API token: `headerIdentity`, `jwtIdentity`, or your own. */
  readonly identify?: Identify;
  /**
   * The rights of a person who answers through a channel such as Slack or a link in a mail, without a sign-in. Undefined for
   * people who have none. By default everyone may read and decide what `mayRead` and the policies of a request let
   * them, with the roles that `people.rolesOf` knows.
   */
  readonly identifyPerson?: (id: string) => Identified | undefined | Promise<Identified | undefined>;
  /** The channels of notices about requests: `mail`, `slack`, `webhook`, `webPush`, or your own. Needs `publicUrl` for links. */
  readonly channels?: readonly ServerChannel[];
  /** Pages on which people decide a request by a link, such as one in a mail, without the inbox. False for none. */
  readonly links?: LinkOptions | false;
  /**
   * Signs decision links; at least 32 characters. Of several, the first signs and all are accepted. By default one is made and
   * kept in the store.
   */
  readonly linkSecret?: string | readonly string[];
  /**
   * People whose mail address is known can ask on the sign-in page for a link, where a channel such as `mail` and `publicUrl` are set
   * up. By default they can, unless `identify` signs people in.
   */
  readonly mailSignIn?: boolean;
  /**
   * The accounts of your organisation that people sign in with, by OpenID Connect: Google, Okta, Entra ID and others. Needs
   * `publicUrl`, unless only this machine reaches the server. Mails with sign-in links are off then, unless `mailSignIn` is true.
   */
  readonly signIn?: readonly SignInIssuer[];
  /** The inbox as an MCP server at `/mcp`, for clients that people use. False for none. */
  readonly mcp?: McpOptions | false;
  /** The address that browsers use, such as `https://approvals.example.com`. With https, cookies are `Secure`. */
  readonly publicUrl?: string;
  /** What a message does to pending requests in chats. Default: what the agent says, or `auto`. See `docs/guides/chat.md`. */
  readonly whilePending?: WhilePending;
  /** The path that the app is mounted at, such as `/approvals`; the root by default. */
  readonly basePath?: string;
  /** The host names that this server answers to besides that of `publicUrl`; any by default. */
  readonly hosts?: readonly string[] | 'loopback';
  /** Other origins whose pages may send requests with their users' cookies. */
  readonly allowedOrigins?: readonly string[];
  /** The model in use, which `/me` shows; see `modelFromEnvironment`. */
  readonly model?: { readonly name: string; readonly demo: boolean };
  /** `/metrics` for tokens that reach all runs (`token`, the default), for everyone (`open`), or not at all (`off`). */
  readonly metrics?: 'token' | 'open' | 'off';
  /** The folder of the built inbox, by default the one in this package; false serves no inbox. */
  readonly inboxDir?: string | false;
  /** Receives log entries; nothing is logged by default. */
  readonly log?: LogSink;
  /** Also logs the inputs of tools and the answers of people. */
  readonly logInputs?: boolean;
  /** The largest request body; 1 MB by default. */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive; 30 seconds by default. */
  readonly bodyTimeoutMs?: number;
  /** How often an idle stream sends a comment; 15 seconds by default. */
  readonly keepAliveMs?: number;
  /** How long a stream stays open before its client must reconnect; one hour by default. */
  readonly streamLifetimeMs?: number;
  /** How often the access of streaming clients is checked again; every 30 seconds by default. */
  readonly streamCheckMs?: number;
  /** How many streams may be open at once; 2,000 by default. */
  readonly maxStreams?: number;
  /** How many of them one person may have open; 200 by default, and at most half of `maxStreams`. */
  readonly maxStreamsPerPerson?: number;
};

export const AppOptionsShape = optionsOf<AppOptions>({
  mayRead: aFunction,
  maySteer: aFunction,
  identify: aFunction,
  identifyPerson: aFunction,
  channels: option(areChannels, 'must be an array of channels with different names: letters, digits and dashes'),
  links: option(areLinkOptions, 'must be false or { lifetimeMs, requireSignIn }, with a lifetime above 0'),
  linkSecret: option(areSecrets, 'must be a string of at least 32 characters, or an array of such strings'),
  mailSignIn: aBoolean,
  signIn: option(Array.isArray, 'must be an array of issuers'),
  mcp: option(areMcpOptions, 'must be false or { allowOwnRequests: true or false }'),
  publicUrl: aString,
  whilePending: option(
    (value) => WHILE_PENDING.includes(value as WhilePending),
    `must be one of ${WHILE_PENDING.join(', ')}`,
  ),
  basePath: option((value) => /^(\/[\w-]+)*$/.test(String(value)), 'must be a path such as /approvals'),
  hosts: option((value) => value === 'loopback' || isStrings(value), 'must be "loopback" or an array of strings'),
  allowedOrigins: option(isStrings, 'must be an array of strings'),
  model: option((value) => typeof value === 'object' && value !== null, 'must be an object'),
  metrics: option((value) => ['token', 'open', 'off'].includes(String(value)), 'must be token, open or off'),
  inboxDir: option((value) => value === false || typeof value === 'string', 'must be a folder or false'),
  log: aFunction,
  logInputs: aBoolean,
  maxBodyBytes: aNumber,
  bodyTimeoutMs: aNumber,
  keepAliveMs: aNumber,
  streamLifetimeMs: aNumber,
  streamCheckMs: aNumber,
  maxStreams: aNumber,
  maxStreamsPerPerson: aNumber,
});

const CHANNEL_NAME = /^[A-Za-z0-9-]{1,50}$/;

function areChannels(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const names = value.map((channel: Partial<ServerChannel> | null) => channel?.name);
  const areNamed = names.every((name) => typeof name === 'string' && CHANNEL_NAME.test(name));
  return (
    areNamed && new Set(names).size === names.length && value.every(({ deliver }) => typeof deliver === 'function')
  );
}

const LINK_OPTIONS: readonly string[] = ['lifetimeMs', 'requireSignIn'] satisfies (keyof LinkOptions)[];

function areLinkOptions(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== 'object' || value === null) return false;
  const { lifetimeMs = 1, requireSignIn = false } = value as LinkOptions;
  const areKnown = Object.keys(value).every((name) => LINK_OPTIONS.includes(name));
  return areKnown && typeof requireSignIn === 'boolean' && typeof lifetimeMs === 'number' && lifetimeMs > 0;
}

function areMcpOptions(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(([name, given]) => name === 'allowOwnRequests' && typeof given === 'boolean');
}

function areSecrets(value: unknown): boolean {
  const secrets = typeof value === 'string' ? [value] : value;
  return isStrings(secrets) && secrets.length > 0 && secrets.every((secret) => secret.length >= 32);
}
