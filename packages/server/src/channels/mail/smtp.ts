// The connection to a mail server. nodemailer is loaded with the first mail.
import type { SendMailOptions, SMTPPoolOptions, SMTPPoolSentMessageInfo, Transporter } from 'nodemailer';
import { DeliveryError } from '../delivery-error.ts';

/** A mail whose headers and parts are complete. */
export type Mail = Pick<
  SendMailOptions,
  'subject' | 'html' | 'text' | 'messageId' | 'references' | 'inReplyTo' | 'headers'
> & {
  readonly from: string;
  readonly to: { readonly name: string; readonly address: string };
  readonly replyTo?: string;
};

export type MailServer = {
  /** Such as `smtp.example.com:587`, for errors. */
  readonly host: string;
  /** Resolves once the server has accepted the mail. */
  send(mail: Mail, signal?: AbortSignal): Promise<void>;
  /** Connects and signs in. */
  verify(): Promise<void>;
  close(): Promise<void>;
};

/** A delivery has 10 seconds. The outbox repeats it, so the pool tries a connection that was closed only once more. */
const DEFAULTS: SMTPPoolOptions = {
  connectionTimeout: 8_000,
  greetingTimeout: 8_000,
  dnsTimeout: 8_000,
  socketTimeout: 20_000,
  maxRequeues: 1,
};

export function mailServer(smtp: string | SMTPPoolOptions): MailServer {
  const given = typeof smtp === 'string' ? { url: smtp } : smtp;
  const server = placeOf(given);
  let transporter: Promise<Transporter<SMTPPoolSentMessageInfo>> | undefined;
  const connected = () => {
    transporter ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({
        ...DEFAULTS,
        ...encryption(server),
        ...given,
        pool: true,
        disableFileAccess: true,
        disableUrlAccess: true,
      }),
    );
    return transporter;
  };
  return {
    host: server.host,
    send: async (mail, signal) => {
      const { to } = mail;
      try {
        await orAborted(async () => (await connected()).sendMail(mail), signal);
      } catch (error) {
        throw failureOf(error, server.host, to.name === '' ? to.address : `${to.name} <${to.address}>`);
      }
    },
    verify: async () => {
      try {
        await (await connected()).verify();
      } catch (error) {
        throw new DeliveryError(problemOf(error, server.host), { retryable: true, cause: error });
      }
    },
    close: async () => (await transporter)?.close(),
  };
}

type Place = { readonly host: string; readonly isLocal: boolean };

function placeOf({ url, host = 'localhost', port, service }: SMTPPoolOptions): Place {
  const parsed = url === undefined ? undefined : new URL(url);
  const name = parsed?.hostname || host;
  const number = parsed?.port || port;
  const isLocal = service === undefined && /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(name);
  return { host: service ?? (number ? `${name}:${number}` : name), isLocal };
}

/** Without it, anyone on the way could remove the offer of encryption and read the password and the decision links. */
const encryption = ({ isLocal }: Place): SMTPPoolOptions => (isLocal ? {} : { requireTLS: true });

/** A server can be slower than a delivery may take. The mail may still arrive, with the same id. */
async function orAborted<T>(send: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return send();
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([send(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

type SmtpError = { readonly code?: unknown; readonly command?: unknown; readonly permanent?: unknown };

/** What the server says about this recipient or this mail is final. A fault of the set-up can be fixed meanwhile. */
function failureOf(error: unknown, host: string, recipient: string): DeliveryError {
  const { permanent, command } = Object(error) as SmtpError;
  const isFinal = permanent === true && (command === 'RCPT TO' || command === 'DATA');
  const message = isFinal
    ? `The mail server ${host} refused the mail to ${recipient}: ${said(error)}`
    : problemOf(error, host);
  return new DeliveryError(message, { retryable: !isFinal, cause: error });
}

/** What went wrong, and what to do about it. */
function problemOf(error: unknown, host: string): string {
  const { code } = Object(error) as SmtpError;
  const message = said(error);
  if (code === 'EAUTH' || code === 'ENOAUTH' || code === 'EOAUTH2')
    return `The mail server ${host} refused the sign-in: ${message}. Check the user and the password in \`smtp\`.`;
  if (code === 'ETLS' || /certificate|\b(TLS|SSL)\b/i.test(message))
    return `No encrypted connection to the mail server ${host}: ${message}. Check its certificate, or set \`requireTLS: false\` in \`smtp\` if it has no encryption.`;
  if (UNREACHABLE.has(code))
    return `Cannot reach the mail server ${host}: ${message}. Check the host and the port in \`smtp\`.`;
  return `The mail server ${host} did not accept the mail: ${message}`;
}

const UNREACHABLE: ReadonlySet<unknown> = new Set(['EDNS', 'ECONNECTION', 'ESOCKET', 'ETIMEDOUT']);

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));
