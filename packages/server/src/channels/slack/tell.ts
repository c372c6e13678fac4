// Sends a text that only one person sees.
import { escaped } from './blocks.ts';
import { post, type WebApi } from './web-api.ts';

/** Where a person pressed. */
export type Place = {
  readonly user: string;
  /** The conversation with the message. */
  readonly channel?: string;
  /** Slack's address for answers to a press; it works for half an hour. */
  readonly responseUrl?: string;
};

/** The text, with a link below it. */
export type Remark = { readonly text: string; readonly url?: string };

/** Throws if Slack takes it neither way. */
export async function tell(api: WebApi, { user, channel, responseUrl }: Place, { text, url }: Remark): Promise<void> {
  const link = url === undefined ? '' : `\n<${escaped(url)}|Open the request>`;
  const said = { text: `${escaped(text)}${link}` };
  if (responseUrl !== undefined) {
    const answer = await post(responseUrl, { response_type: 'ephemeral', replace_original: false, ...said }).catch(
      () => undefined,
    );
    if (answer?.ok) return;
  }
  if (channel !== undefined) await api('chat.postEphemeral', { channel, user, ...said });
}
