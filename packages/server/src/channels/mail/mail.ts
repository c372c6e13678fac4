// The channel `mail`: tells people about requests by mail. Its links open a page; a mail decides nothing.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import type { SMTPPoolOptions } from 'nodemailer';
import { aString, checkOptions, option, optionsOf } from '../../check-options.ts';
import type { ServerChannel } from '../server-channel.ts';
import { addressIn, headerText, isAddress } from './headers.ts';
import { mailServer } from './smtp.ts';
import { mailWriter, type WritingOptions } from './write-mail.ts';

export type MailOptions = WritingOptions & {
  /** `mail` by default. Letters, digits and dashes. */
  readonly name?: string;
  /**
   * The mail server: an address such as `smtps://user:password@smtp.example.com`, or the options of nodemailer's SMTP
   * transport. The connection is encrypted (`requireTLS`) unless the server is on this machine or the options say otherwise.
   */
  readonly smtp: string | SMTPPoolOptions;
};

/**
 * Makes a channel that sends a mail to each person. The address is `mail` of their contact, or their id if that is an address.
 * @example
 * serve(ai, { channels: [mail({ smtp: process.env.SMTP_URL, from: 'Approvals <approvals@example.com>' })] });
 */
export function mail(options: MailOptions): ServerChannel {
  checkOptions('mail', MailShape, options);
  const { name = 'mail', smtp } = options;
  const write = mailWriter(options, name);
  const server = mailServer(smtp);
  return {
    name,
    audience: 'person',
    // Later mails answer the first one.
    deliver: async (notice, { signal, sent }) => {
      const written = write.about(notice, sent);
      await server.send(written, signal);
      return sent ?? { messageId: written.messageId };
    },
    digest: async (notices, { signal }) => server.send(write.digest(notices), signal),
    inform: (news, { signal }) => server.send(write.news(news), signal),
    signIn: (asked, { signal }) => server.send(write.signIn(asked), signal),
    check: () => server.verify(),
    close: () => server.close(),
    sample: async (to) => {
      if (!isAddress(to)) throw new UsageError('invalid-options', { to }, `${headerText(to)} is not a mail address.`);
      await server.send(write.sample(to));
      return `Sent a sample to ${to} through ${server.host}.`;
    },
  };
}

const isSmtp = (value: unknown): boolean =>
  typeof value === 'string'
    ? /^smtps?:\/\/[^/]/i.test(value) && URL.canParse(value)
    : typeof value === 'object' && value !== null;
const isSender = (value: unknown): boolean =>
  typeof value === 'string' && isAddress(addressIn(value)) && headerText(value) === value.trim();
const isTexts = (value: unknown): boolean =>
  typeof value === 'function' || (typeof value === 'object' && value !== null && !Array.isArray(value));

const MailShape = optionsOf<MailOptions>({
  name: option(
    (value) => typeof value === 'string' && /^[A-Za-z\d-]+$/.test(value),
    'must have letters, digits and dashes only',
  ),
  smtp: z.custom(isSmtp, 'must be an address such as smtps://user:password@smtp.example.com, or options of nodemailer'),
  from: z.custom(isSender, 'must be a sender such as Approvals <approvals@example.com>'),
  replyTo: option(isSender, 'must be one mail address'),
  subjectPrefix: aString,
  texts: option(isTexts, 'must be an object of texts, or a function of a locale that returns one'),
  locale: aString,
  timeZone: aString,
});
