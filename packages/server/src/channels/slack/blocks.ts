// Parts of messages and views in Slack's Block Kit. Texts of others are escaped, so they contain no mentions and no links.
import type { Json } from 'countersign';
import { visibleText } from '../../text/visible-text.ts';

export type Block = { readonly [field: string]: Json };

/** A text of the section of a message has this many characters at most. */
export const MOST_IN_TEXT = 3_000;
/** A value of a form has this many characters at most. */
export const MOST_IN_INPUT = 3_000;
const MOST_IN_HEADER = 150;

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Shown literally, without styles, links and emoji codes. */
export const plain = (text: string): Block => ({
  type: 'plain_text',
  text: escaped(visibleText(text)) || ' ',
  emoji: false,
});

/** `text` is markup: escape what others wrote. Addresses in it do not become links. */
export const markup = (text: string): Block => ({ type: 'mrkdwn', text, verbatim: true });

export const section = (text: Block): Block => ({ type: 'section', text });

/** A title that is too long for a header is a text. */
export function heading(title: string): Block {
  const text = plain(title);
  return String(text.text).length <= MOST_IN_HEADER ? { type: 'header', text } : section(text);
}

/** Lines in a font of fixed width. Backticks in them could end it; then the lines are plain. */
export function code(caption: string, lines: readonly string[]): readonly Block[] {
  const text = lines.join('\n');
  if (text.includes('```')) return [section(markup(`*${caption}*`)), section(plain(text))];
  return [section(markup(`*${caption}*\n\`\`\`\n${escaped(text)}\n\`\`\``))];
}

export type Press = {
  readonly id: string;
  readonly label: string;
  readonly style?: 'primary' | 'danger';
};

/** Slack returns `value` when a user presses the button. */
export const button = ({ id, label, style }: Press, value: string): Block => ({
  type: 'button',
  action_id: id,
  text: plain(label),
  value,
  ...(style && { style }),
});

/** The id of buttons that open a page. Slack reports those too. */
export const OPEN = 'open';

export const linkButton = (label: string, url: string): Block => ({
  type: 'button',
  action_id: OPEN,
  text: plain(label),
  url,
});
