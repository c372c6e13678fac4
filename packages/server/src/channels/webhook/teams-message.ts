// A notice as a message in Microsoft Teams, for a workflow that posts what its webhook gets.
import type { Json, Notice } from 'countersign';
import { fitted, type MessageContent } from './message-content.ts';

/**
 * Makes a message with an Adaptive Card for a Teams workflow with the trigger "When a Teams webhook request is received". It shows
 * the request, or only its tool if the request does not fit, and links to the page that decides it.
 * @example
 * webhook({ name: 'teams', url: process.env.TEAMS_WEBHOOK_URL ?? '', transform: teamsMessage, all: false })
 */
export function teamsMessage(notice: Notice): { readonly [field: string]: Json } {
  return fitted(
    notice,
    (content) => messageOf(content, notice),
    (message) => bytesOf(message) <= MOST_BYTES,
  );
}

/** Teams refuses messages of more than 28 KB, and counts what it adds to them. */
const MOST_BYTES = 20_000;

const bytesOf = (message: Json): number => Buffer.byteLength(JSON.stringify(message));

function messageOf(
  content: MessageContent,
  { links, expiresAt, settlement }: Notice,
): { readonly [field: string]: Json } {
  const { status, tone, title, source, sections } = content;
  const body: readonly Json[] = [
    textOf(status, { weight: 'Bolder', color: COLORS[tone] }),
    textOf(title, { size: 'Large', weight: 'Bolder' }),
    textOf(source, { isSubtle: true }),
    ...(expiresAt !== null && !settlement ? [deadlineOf(expiresAt)] : []),
    ...sections.flatMap(({ heading, lines }) => [
      { ...textOf(heading, { weight: 'Bolder' }), separator: true, spacing: 'Medium' },
      ...lines.map((line) => ({ ...textOf(line, { fontType: 'Monospace' }), spacing: 'None' })),
    ]),
  ];
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    msteams: { width: 'Full' },
    body,
    ...(links && { actions: [{ type: 'Action.OpenUrl', title: 'Open request', url: links.request }] }),
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content: card }] };
}

const COLORS = { waiting: 'Warning', good: 'Good', bad: 'Attention', over: 'Default' } as const;

/** A text run, and not a text block, which would read Markdown and links in it. Spaces are kept. */
function textOf(text: string, look: { readonly [field: string]: Json }) {
  const kept = text.replaceAll(/^ | {2,}/g, (spaces) => '\u00a0'.repeat(spaces.length));
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: kept === '' ? '\u00a0' : kept, ...look }] };
}

/** In the time zone of the reader. */
function deadlineOf(expiresAt: number): Json {
  const at = new Date(expiresAt).toISOString().replace(/\.\d+/, '');
  return { type: 'TextBlock', text: `Decide by {{DATE(${at}, SHORT)}} {{TIME(${at})}}`, wrap: true };
}
