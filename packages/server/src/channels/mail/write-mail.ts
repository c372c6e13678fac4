// Writes mails about notices: who gets which letter, in which thread.
import { randomUUID } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type { Json, Notice } from 'countersign';
import type { Contact, PersonNews, Recipient } from 'countersign/store';
import { defined } from '../../defined.ts';
import { formatFor } from '../../text/format.ts';
import { DeliveryError } from '../delivery-error.ts';
import type { SignInMail } from '../server-channel.ts';
import { digestHeading, digestSections } from './digest.ts';
import { addressIn, automaticHeaders, headerText, isAddress, messageIdOf, noticeHeaders, threadOf } from './headers.ts';
import { htmlOf } from './html.ts';
import { fitting, type Letter } from './letter.ts';
import { sampleMail } from './sample.ts';
import { headlineOf, type Reader, type Section, sectionOf } from './section.ts';
import type { Mail } from './smtp.ts';
import { textOf } from './text.ts';
import { ENGLISH, type MailTexts } from './texts.ts';

/** What decides how mails look; the options of `mail()`. */
export type WritingOptions = {
  /** The sender, such as `Approvals <approvals@example.com>`. */
  readonly from: string;
  /** Where replies go. They decide nothing. */
  readonly replyTo?: string;
  /** Stands before the title in the subject, such as `[Staging]`. */
  readonly subjectPrefix?: string;
  /** Texts to replace: all of them for another language, or a function of the person's locale. */
  readonly texts?: Partial<MailTexts> | ((locale: string | undefined) => Partial<MailTexts>);
  /** For people whose contact has no locale; `en` by default. */
  readonly locale?: string;
  /** For people whose contact has no time zone; `UTC` by default. */
  readonly timeZone?: string;
};

export function mailWriter(options: WritingOptions, channel: string) {
  const { from, replyTo, subjectPrefix = '', texts: own = {}, locale, timeZone } = options;
  const domain = domainToASCII(addressIn(from).split('@')[1] ?? '') || 'localhost';
  const textsFor = (contact: Contact): MailTexts => ({
    ...ENGLISH,
    ...(typeof own === 'function' ? own(contact.locale ?? locale) : own),
  });
  const readerOf = (recipient: Recipient): Reader => {
    const { contact } = recipient;
    const reading = formatFor({ ...defined({ locale, timeZone }), ...contact });
    return { recipient, reading, texts: textsFor(contact) };
  };
  const written = (letter: Letter, recipient: Recipient, subject: string): Mail => {
    const fitted = fitting(letter, htmlOf);
    return {
      from,
      ...(replyTo !== undefined && { replyTo }),
      to: { name: headerText(recipient.contact.name ?? ''), address: addressOf(recipient) },
      subject,
      html: htmlOf(fitted),
      text: textOf(fitted),
      headers: automaticHeaders(channel, domain),
    };
  };
  /** Later mails of a thread keep the subject, because Gmail groups mails by it too. A first mail about an end says which. */
  const subjectOf = ({ type, title, settlement }: Notice, lead: string, sent?: Json): string => {
    const isReply = type === 'reminded' || (settlement !== null && messageIdIn(sent) !== undefined);
    const shown = settlement && !isReply ? `${lead}: ${title}` : title;
    return headerText(`${isReply ? 'Re:' : ''} ${subjectPrefix} ${shown}`);
  };
  return {
    /** `sent`: what the first mail about the request left behind. */
    about: (notice: Notice, sent?: Json): Mail & { readonly messageId: string } => {
      const recipient = recipientOf(notice);
      const reader = readerOf(recipient);
      const section = sectionOf(notice, reader);
      const footer = [whyText(recipient, reader.texts), reader.texts.replies];
      const subject = subjectOf(notice, headlineOf(notice, reader), sent);
      const mail = written(letterOf(reader.texts, [section], footer), recipient, subject);
      return {
        ...mail,
        messageId: messageIdOf(notice.key, domain),
        ...threadOf(notice, domain, messageIdIn(sent)),
        headers: { ...automaticHeaders(channel, domain), ...noticeHeaders(notice) },
      };
    },
    /** Tells a person that someone may decide for them. */
    news: ({ key, person, contact, delegate, from: begin, until, by }: PersonNews): Mail => {
      const recipient: Recipient = { person, why: 'told-before', contact };
      const { texts, reading } = readerOf(recipient);
      const [start, end] = [reading.time(begin), reading.time(until)];
      const footer = [texts.delegation(headerText(delegate), start, end, headerText(by)), texts.delegationAdvice];
      const heading = texts.delegateNamed(headerText(delegate));
      const letter = letterOf(texts, [], [...footer, texts.replies], heading);
      const subject = headerText(`${subjectPrefix} ${heading}`);
      return { ...written(letter, recipient, subject), messageId: messageIdOf(key, domain) };
    },
    signIn: ({ person, contact, link }: SignInMail): Mail => {
      const recipient: Recipient = { person, why: 'told-before', contact };
      const { texts } = readerOf(recipient);
      const links = [{ label: texts.signInLink, url: link, look: 'main' }] as const;
      const section: Section = {
        lead: texts.signInLead(headerText(contact.name ?? person)),
        tone: 'accent',
        title: texts.signIn,
        ...{ source: '', badges: [], blocks: [], hint: texts.signInHint },
        links: { whole: links, partial: links },
      };
      const mail = written(letterOf(texts, [section], [texts.signInWarning]), recipient, texts.signIn);
      return { ...mail, messageId: messageIdOf(`sign-in-${randomUUID()}`, domain) };
    },
    sample: (to: string): Mail => {
      const texts = textsFor({});
      const notice = sampleMail(to, `sample-${randomUUID()}`, texts);
      const recipient = recipientOf(notice);
      const section = { ...sectionOf(notice, readerOf(recipient)), hint: '' };
      const mail = written(letterOf(texts, [section], [texts.sampleMessage]), recipient, subjectOf(notice, ''));
      return { ...mail, messageId: messageIdOf(notice.key, domain) };
    },
    digest: (notices: readonly Notice[]): Mail => {
      const recipient = recipientOf(notices[0]);
      const reader = readerOf(recipient);
      const { texts } = reader;
      const heading = digestHeading(notices, reader);
      const sections = digestSections(notices, reader);
      const footer = [texts.whyDigest, texts.replies];
      const letter = letterOf(texts, sections, footer, heading ?? texts.digestLead(notices.length));
      const key = JSON.stringify(notices.map(({ key }) => key));
      const subject = headerText(`${subjectPrefix} ${heading ?? texts.digest(notices.length)}`);
      return { ...written(letter, recipient, subject), messageId: messageIdOf(key, domain) };
    },
  };
}

function letterOf(texts: MailTexts, sections: readonly Section[], footer: readonly string[], heading = ''): Letter {
  const summary = sections.map(({ lead, title, badges }) =>
    heading === '' ? [lead, ...badges.map(({ text }) => text)].join(' · ') : title,
  );
  return { language: texts.language, summary: summary.join('; '), heading, sections, footer, tooLarge: texts.tooLarge };
}

function recipientOf(notice: Notice | undefined): Recipient {
  const [recipient] = notice?.to ?? [];
  if (recipient) return recipient;
  throw new DeliveryError(`The notice ${notice?.key} has no recipient.`, { retryable: false });
}

function addressOf({ person, contact }: Recipient): string {
  const address = contact.mail ?? person;
  if (isAddress(address)) return address;
  const problem =
    contact.mail === undefined
      ? 'has no mail address'
      : `has the mail address ${headerText(contact.mail)}, which is invalid`;
  const advice = 'Return one as `mail` from `contactOf` of the directory (`people`).';
  throw new DeliveryError(`${headerText(person)} ${problem}. ${advice}`, { retryable: false, unreachable: true });
}

function whyText({ why, onBehalfOf }: Recipient, texts: MailTexts): string {
  return why === 'delegate' && onBehalfOf !== undefined ? texts.onBehalfOf(headerText(onBehalfOf)) : texts.why[why];
}

function messageIdIn(sent: Json | undefined): string | undefined {
  const id = typeof sent === 'object' && sent !== null && 'messageId' in sent ? sent.messageId : undefined;
  return typeof id === 'string' && /^<[^\s<>]+>$/.test(id) ? id : undefined;
}
