// What a chat route is told: who asks, who may, and how to speak to the browser.
import { UsageError } from '../core/errors.ts';
import { checkChoice, keysOf, refuseUnknownKeys } from '../core/known-keys.ts';
import type { Context } from '../loop/tool/definition.ts';
import type { RunRecord } from '../runs/port/store.ts';
import type { SealKeys } from './chats/seal.ts';
import type { InterruptCard } from './picture/card.ts';
import type { WriterOptions } from './picture/writer.ts';

/** Who asks. `context` is what tools get for this request; it is not stored. */
export type Person = { readonly id: string; readonly context?: Context };

/**
 * Identifies the user: returns a person, null if nobody is signed in, or a Response such as a redirect to the login.
 * It is called before the body of a post is read. `chatId()` reads it, so identify the user first.
 */
export type Authorize = (
  request: Request,
  about: { readonly chatId: () => Promise<string> },
) => Person | Response | null | undefined | Promise<Person | Response | null | undefined>;

/** The options of `chatRoute`. */
export type ChatRouteOptions = {
  /** Without it, everybody is refused, except with `demo`. */
  readonly authorize?: Authorize;
  /** Everybody is the same person, called `demo`. For demonstrations only. */
  readonly demo?: boolean;
  /** Who may read a stored chat, and speak in it: the one who began it, unless given. */
  readonly mayRead?: (run: RunRecord, person: Person) => boolean | Promise<boolean>;
  /** Who may decide a question: whoever may read the chat, unless given. */
  readonly mayDecide?: (card: InterruptCard, person: Person) => boolean | Promise<boolean>;
  /** For agents without a store: seals everything that leaves. One secret of at least 32 bytes, or several with names. */
  readonly secret?: SealKeys;
  /** How long a sealed question can be decided; an hour unless given. */
  readonly sealExpiresInMs?: number;
  /** The major version of `ai` in the browser; 6 unless given, which 7 understands as well. */
  readonly client?: WriterOptions['client'];
  /** How approvals are shown: as `approval-requested` parts, or as calls without a result that `addToolOutput` decides. */
  readonly approvals?: WriterOptions['approvals'];
  /** What happens to pending questions when the user speaks: withdraw them (the default) or refuse the message. */
  readonly whilePending?: 'cancel' | 'refuse';
  /** Other origins whose pages may post here. */
  readonly allowedOrigins?: readonly string[];
  /** 1 MB unless given. */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive; 30 seconds unless given. */
  readonly bodyTimeoutMs?: number;
  /** The time in milliseconds, for seals; the machine's unless given. */
  readonly clock?: () => number;
  /** 15 seconds unless given. */
  readonly keepAliveMs?: number;
  /** Hears of what went wrong here before an answer began, and of policies that threw; `console.error` does unless given. */
  readonly onFault?: (error: unknown, request: Request) => void;
  /** What the browser is told when the model or the network failed. */
  readonly onError?: (error: { readonly code: string; readonly message: string }) => string;
};

const KEYS = keysOf<ChatRouteOptions>({
  authorize: true,
  demo: true,
  mayRead: true,
  mayDecide: true,
  secret: true,
  sealExpiresInMs: true,
  client: true,
  approvals: true,
  whilePending: true,
  allowedOrigins: true,
  maxBodyBytes: true,
  bodyTimeoutMs: true,
  clock: true,
  keepAliveMs: true,
  onFault: true,
  onError: true,
});

/** Throws `invalid-options` for what protects and would protect otherwise than was meant. */
export function checkChatOptions(options: ChatRouteOptions): void {
  refuseUnknownKeys('chatRoute', options, KEYS);
  const { sealExpiresInMs = 1, allowedOrigins = [] } = options;
  checkChoice('whilePending', options.whilePending, ['cancel', 'refuse']);
  for (const name of ['authorize', 'mayRead', 'mayDecide'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function') throw invalid(name, 'a function');
  // A text would be put behind the time, and seals would hold for ever.
  if (!Number.isFinite(sealExpiresInMs) || sealExpiresInMs <= 0)
    throw invalid('sealExpiresInMs', 'a number of milliseconds above 0');
  // In a text, every part of it would be found.
  if (!Array.isArray(allowedOrigins) || !allowedOrigins.every((origin) => typeof origin === 'string'))
    throw invalid('allowedOrigins', 'a list of texts');
}

function invalid(option: string, what: string): UsageError {
  return new UsageError('invalid-options', { option }, `\`${option}\` must be ${what}.`);
}
