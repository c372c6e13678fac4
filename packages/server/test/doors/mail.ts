// Mail: the decision link as it arrives in a real mail. What a mail program sends is the form of the page behind the link.
import { expect } from 'vitest';
import { noticeOn } from '../channels/notice.ts';
import { linkDoor } from './links.ts';

export const mail = linkDoor('mail', async ({ ai, office }, id, decide) => {
  const notice = noticeOn(await ai.runs.request(id), 'opened');
  await office.deliver({ ...notice, links: { ...notice.links, request: notice.links?.request ?? '', decide } });
  const { text = '', html } = office.mails.at(-1) ?? {};
  // Nobody sees these characters in the mail either.
  for (const character of ['\u202e', '\u200b']) expect(`${text}${html}`).not.toContain(character);
  return /https?:\/\/\S+\/decide\/\S+/.exec(text)?.[0] ?? '';
});
