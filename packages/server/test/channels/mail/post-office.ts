// A real SMTP server whose mails are parsed, requests of real runs, and the channel between them.
import type { AddressInfo } from 'node:net';
import { type MailOptions, mail, type ServerChannel } from '@countersign/server';
import { type Approval, type Countersign, type Json, type Notice, z } from 'countersign';
import type { NoticeType } from 'countersign/request';
import { scriptedModel } from 'countersign/testing';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { type NoticedRequest, noticedRequest } from '../notice.ts';

export type PostOffice = {
  readonly port: number;
  /** What arrived, in order. */
  readonly mails: readonly Arrived[];
  readonly channel: ServerChannel & Required<Pick<ServerChannel, 'digest' | 'check' | 'close' | 'sample'>>;
  deliver(notice: Notice): Promise<Json | undefined | void>;
  close(): Promise<void>;
};

export type Arrived = ParsedMail & {
  readonly html: string;
  readonly text: string;
  readonly raw: string;
  /** Of the envelope. */
  readonly recipients: readonly string[];
};

export async function openPostOffice(
  options: Partial<MailOptions> = {},
  serverOptions: SMTPServerOptions = {},
  onEnd: (close: () => Promise<void>) => void = onTestFinished,
): Promise<PostOffice> {
  const mails: Arrived[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 50,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks).toString('latin1');
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ ...(await simpleParser(Buffer.concat(chunks))), raw, recipients } as Arrived);
        done();
      });
    },
    ...serverOptions,
  });
  // A client that ends the connection is not a fault of the server.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  const channel = mail({ smtp: `smtp://127.0.0.1:${port}`, from: 'Approvals <approvals@example.com>', ...options });
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  onEnd(async () => {
    await channel.close?.();
    await close();
  });
  return {
    port,
    mails,
    channel: channel as PostOffice['channel'],
    deliver: (notice) => channel.deliver(notice, NEVER),
    close,
  };
}

/** A delivery without a limit. */
export const NEVER = { signal: new AbortController().signal };

export type Asked = {
  readonly input?: Json;
  readonly title?: string;
  /** What `needsApproval` returns. */
  readonly asks?: Approval & { readonly [more: string]: unknown };
  readonly preview?: Json;
  readonly reversibility?: 'read-only' | 'reversible' | 'irreversible';
  /** Defines policies, before the tool. */
  readonly prepare?: (ai: Countersign) => void;
};

/** A pending approval of exactly this input. */
export function asked(options: Asked = {}): Promise<NoticedRequest> {
  const { input = { to: 'ACME', amount: 950 }, title, asks = {}, preview, reversibility, prepare } = options;
  const define = (ai: Countersign) => {
    prepare?.(ai);
    const payInvoice = ai.defineTool(
      {
        name: 'payInvoice',
        description: 'Pays.',
        inputSchema: z.any(),
        ...(title !== undefined && { title }),
        ...(preview !== undefined && { preview: () => preview }),
        ...(reversibility && { reversibility }),
        needsApproval: () => asks,
      },
      () => 'paid',
    );
    ai.defineAgent({ name: 'teller', tools: [payInvoice] });
  };
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ name: 'payInvoice', input }] },
  );
  return noticedRequest('pay', define, model);
}

export const LINKS = {
  request: 'https://approvals.example.com/requests/run%3A1',
  decide: 'https://approvals.example.com/decide/TOKEN-1',
};

/** A notice with decision links. */
export async function openedNotice(
  options: Asked = {},
  changes: Partial<Notice> = {},
  type: NoticeType = 'opened',
): Promise<Notice> {
  return (await asked(options)).notice(type, { links: LINKS, ...changes });
}
