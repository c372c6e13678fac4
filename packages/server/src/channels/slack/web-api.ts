// Calls Slack's Web API, and says which of its errors another attempt can help with.
import type { Json } from 'countersign';
import { DeliveryError } from '../delivery-error.ts';
import { waitOf } from '../webhook/answer.ts';

export type Body = { readonly [field: string]: Json | undefined };

/** Resolves with the answer of Slack. Throws a `SlackError` if Slack refuses, a `DeliveryError` if it does not answer. */
export type WebApi = (method: string, body: Body, signal?: AbortSignal) => Promise<{ readonly [field: string]: Json }>;

/** Slack refused a call. */
export class SlackError extends DeliveryError {
  /** Slack's word for it, such as `channel_not_found`. */
  readonly code: string;

  constructor(method: string, code: string, retryAfterMs?: number) {
    const help = HELP[code];
    super(`Slack refused ${method}: ${code}${help === undefined ? '' : `. ${help}`}`, {
      retryable: help === undefined,
      retryAfterMs,
    });
    this.code = code;
  }
}

/** How long a call may take by default. */
const PATIENCE_MS = 10_000;

export function webApi(token: string, base: string): WebApi {
  return async (method, body, signal) => {
    const response = await post(
      `${base}/${method}`,
      body,
      { authorization: `Bearer ${token}` },
      signal ?? AbortSignal.timeout(PATIENCE_MS),
    );
    const retryAfterMs = waitOf(response.headers.get('retry-after') ?? undefined);
    if (response.status === 429) throw new SlackError(method, 'ratelimited', retryAfterMs);
    if (!response.ok) throw new DeliveryError(`Slack answered ${method} with ${response.status}.`, { retryAfterMs });
    const answer = (await response.json().catch((cause: unknown) => {
      throw new DeliveryError(`Slack answered ${method} with something other than JSON.`, { cause });
    })) as { readonly [field: string]: Json };
    if (answer.ok !== true) throw new SlackError(method, String(answer.error ?? 'unknown_error'), retryAfterMs);
    return answer;
  };
}

/** Posts JSON. Redirects are refused: they would pass the token or the text on. */
export async function post(
  url: string,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal = AbortSignal.timeout(PATIENCE_MS),
): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
      body: JSON.stringify(body),
      redirect: 'error',
      signal,
    });
  } catch (cause) {
    const { code, message } = ((cause as Error).cause ?? cause) as NodeJS.ErrnoException;
    throw new DeliveryError(`Slack could not be reached: ${code ?? message}.`, { cause });
  }
}

const TOKEN = 'Set `token` to the bot token of the installed app (xoxb-…).';
const CHANNEL = 'Check the id of the channel, and invite the app to it.';
const PERSON = 'Check the Slack id of the person in the directory.';

/** Errors that stay until an administrator changes the set-up. */
const HELP: Readonly<Record<string, string>> = {
  invalid_auth: TOKEN,
  not_authed: TOKEN,
  account_inactive: TOKEN,
  token_revoked: TOKEN,
  token_expired: TOKEN,
  no_permission: TOKEN,
  missing_scope: 'Add the scope chat:write to the app and install it again.',
  channel_not_found: CHANNEL,
  not_in_channel: CHANNEL,
  is_archived: CHANNEL,
  restricted_action: 'A setting of the workspace keeps the app from posting there.',
  user_not_found: PERSON,
  user_disabled: PERSON,
  cannot_dm_bot: PERSON,
  messages_tab_disabled: 'Turn on the messages tab in the settings of the app.',
  cant_update_message: 'Another app posted the message, or with another token.',
  edit_window_closed: 'The workspace does not let messages change for so long.',
};
