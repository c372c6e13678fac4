// A notice as a message in Discord.
import type { Json, Notice } from 'countersign';
import { clip } from '../../text/text-width.ts';
import { fitted, type MessageContent } from './message-content.ts';

/**
 * Makes a message with an embed for a webhook of a Discord channel. It shows the request, or only its tool if the request does not
 * fit, and links to the page that decides it. Nobody is mentioned, whatever the texts say.
 * @example
 * webhook({ name: 'discord', url: process.env.DISCORD_WEBHOOK_URL ?? '', transform: discordMessage, all: false })
 */
export function discordMessage(notice: Notice): { readonly [field: string]: Json } {
  const embed = fitted(notice, (content) => embedOf(content, notice), fits);
  return { embeds: [embed], allowed_mentions: { parse: [] } };
}

type Embed = {
  readonly author: { readonly name: string };
  readonly title: string;
  readonly description?: string;
  readonly footer: { readonly text: string };
  readonly url?: string;
  readonly color: number;
  readonly timestamp: string;
};

/** Discord takes 256. */
const MOST_IN_NAME = 250;

/** The limits of Discord for an embed. */
function fits({ author, title, description = '', footer }: Embed): boolean {
  const total = author.name.length + title.length + description.length + footer.text.length;
  return title.length <= 256 && description.length <= 4_096 && total <= 6_000;
}

function embedOf(content: MessageContent, { at, expiresAt, links, settlement }: Notice): Embed {
  const { status, tone, title, source, sections } = content;
  const deadline = expiresAt === null || settlement ? [] : [`Decide by <t:${Math.floor(expiresAt / 1_000)}:f>`];
  const parts = sections.map(({ heading, lines }) => [`**${heading}**`, ...lines.map(escaped)].join('\n'));
  const shown = [...deadline, ...parts];
  return {
    author: { name: clip(status, MOST_IN_NAME) },
    title: escaped(title),
    ...(shown.length > 0 && { description: shown.join('\n\n') }),
    footer: { text: source },
    ...(links && { url: links.request }),
    color: COLORS[tone],
    timestamp: new Date(at).toISOString(),
  };
}

const COLORS = { waiting: 0xd97706, good: 0x15803d, bad: 0xb91c1c, over: 0x71717a } as const;

/** Shows the text as it is: no Markdown, no links with another text, no mentions, no addresses that can be clicked. */
function escaped(line: string): string {
  return line
    .replaceAll(/[\\*_~`|[\]()<>]/g, '\\$&')
    .replaceAll('://', '\\://')
    .replace(
      /^(\s*)([#+-]|\d+\.)/,
      (_all, space: string, mark: string) => `${space}${mark.slice(0, -1)}\\${mark.slice(-1)}`,
    );
}
