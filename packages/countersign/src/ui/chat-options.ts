// The options of a chat route: authentication, policies, and the format for the browser.
import { aFunction, anything, type OptionKind, type OptionTable, oneOf, someStrings } from '../core/options.ts';
import { WHILE_PENDING, type WhilePending } from '../loop/options.ts';
import type { Context } from '../loop/tool/definition.ts';
import type { RunRecord } from '../runs/port/store.ts';
import type { WriterOptions } from './picture/writer.ts';
import type { SealKeys } from './seal.ts';

/** A signed-in user. Tools receive `context` for this request; it is not stored. */
export type Person = {
  readonly id: string;
  /** For requests whose policy names roles. */
  readonly roles?: readonly string[];
  readonly context?: Context;
  /** False for a session that may read and write, and not decide. */
  readonly mayDecide?: boolean;
};

/**
 * Identifies the user: returns a person, null if no user is signed in, or a Response such as a redirect to the login.
 * It is called before the body of a post is read. `chatId()` reads it, so identify the user first.
 */
export type Authorize = (
  request: Request,
  about: { readonly chatId: () => Promise<string> },
) => Person | Response | null | undefined | Promise<Person | Response | null | undefined>;

/** The options of `chatRoute`. */
export type ChatRouteOptions = {
  /** Required, except with `demo`. */
  readonly authorize?: Authorize;
  /** Treats every client as one person called `demo`. For demos only. */
  readonly demo?: boolean;
  /** Whether a person may read a stored chat and send messages to it. Default: only the person who started it. */
  readonly mayRead?: (run: RunRecord, person: Person) => boolean | Promise<boolean>;
  /** For agents without a store: signs everything that is sent. One secret of at least 32 bytes, or several with key ids. */
  readonly secret?: SealKeys;
  /** How long a sealed request can be decided. Default: one hour. */
  readonly sealExpiresInMs?: number;
  /** The major version of `ai` in the browser. Default: 6, which 7 also understands. */
  readonly client?: WriterOptions['client'];
  /** `native`: approvals are `approval-requested` parts. `output`: calls without a result, decided with `addToolOutput`. */
  readonly approvals?: WriterOptions['approvals'];
  /** What happens to pending requests when the user writes. Default: that of the agent, or `auto`. `queue` needs a store. */
  readonly whilePending?: WhilePending;
  /** Other origins that may post to this route. */
  readonly allowedOrigins?: readonly string[];
  /** Default: 1 MB. */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive. Default: 30 seconds. */
  readonly bodyTimeoutMs?: number;
  /** The time in milliseconds, for seals. Default: `Date.now`. */
  readonly clock?: () => number;
  /** Default: 15 seconds. */
  readonly keepAliveMs?: number;
  /** Receives internal errors before the response starts, and errors of policies. Default: `console.error`. */
  readonly onFault?: (error: unknown, request: Request) => void;
  /** Returns the error text for the browser when the model or the network failed. */
  readonly onError?: (error: { readonly code: string; readonly message: string }) => string;
};

/** A string would be appended to the time, and seals would never expire. */
const aPositiveMs: OptionKind = {
  is: 'a number of milliseconds above 0',
  fits: (value) => Number.isFinite(value) && Number(value) > 0,
};

export const CHAT_ROUTE_OPTIONS: OptionTable<ChatRouteOptions> = {
  authorize: aFunction,
  demo: anything,
  mayRead: aFunction,
  secret: anything,
  sealExpiresInMs: aPositiveMs,
  client: anything,
  approvals: anything,
  whilePending: oneOf(...WHILE_PENDING),
  allowedOrigins: someStrings,
  maxBodyBytes: anything,
  bodyTimeoutMs: anything,
  clock: anything,
  keepAliveMs: anything,
  onFault: anything,
  onError: anything,
};
