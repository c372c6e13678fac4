// The headers of a mail: which thread it belongs to, who sent it, and what it is about.
import { createHash } from 'node:crypto';
import type { Notice } from 'countersign';

/** Removes characters that end or hide a header, and puts the rest on one line. */
export const headerText = (text: string): string =>
  text
    .replaceAll(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** One address and nothing else: a list, a comment or a second header would reach people who are not meant. */
export const isAddress = (text: string): boolean => text.length <= 254 && ADDRESS.test(text);

const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{C}\p{Z}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}\p{Z}]+$/u;

/** The address in `Countersign <approvals@example.com>`. */
export function addressIn(from: string): string {
  const [, inside] = /<([^<>]*)>\s*$/.exec(from) ?? [];
  return (inside ?? from).trim();
}

/** The same id for the same key: mail programs drop a mail that arrives twice. */
export const messageIdOf = (key: string, domain: string): string => idOf('notice', key, domain);

/** Puts the mails of a run into one thread, and in it those of a request. `sent` is the id of the first mail of the request. */
export function threadOf({ runId, requestId }: Notice, domain: string, sent: string | undefined) {
  const references = [
    idOf('run', runId, domain),
    idOf('request', requestId, domain),
    ...(sent === undefined ? [] : [sent]),
  ];
  return { references, inReplyTo: references.at(-1) ?? '' };
}

function idOf(kind: string, key: string, domain: string): string {
  return `<${kind}-${createHash('sha256').update(key).digest('hex').slice(0, 32)}@${domain}>`;
}

/** Mail programs do not answer these mails with absence notes, and people can sort them by the list. */
export function automaticHeaders(channel: string, domain: string): Readonly<Record<string, string>> {
  return {
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'DR, RN, NRN, OOF, AutoReply',
    'List-Id': `Countersign <${channel.toLowerCase()}.countersign.${domain}>`,
  };
}

/** For filter rules. */
export function noticeHeaders({ type, agent, tool, runId, requestId, risk }: Notice): Readonly<Record<string, string>> {
  const about = { Notice: type, Agent: agent, Tool: tool, Run: runId, Request: requestId, Risk: risk ?? 'unknown' };
  return Object.fromEntries(Object.entries(about).map(([name, value]) => [`X-Countersign-${name}`, headerText(value)]));
}
