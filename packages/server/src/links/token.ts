// Tokens of decision links: what a link is for, signed. Nothing is stored about a link, so there is nothing to look up by guessing.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Notes } from 'countersign/store';
import { defined } from '../defined.ts';
import { keptSecret } from '../kept-secret.ts';

/** One request, one person, one version of the card, until a time, sent through one channel. */
export type DecisionLink = {
  readonly requestId: string;
  readonly person: string;
  readonly digest: string;
  readonly expiresAt: number;
  readonly channel: string;
  /** How the person reads dates and numbers, as far as the directory knows. */
  readonly locale?: string;
  readonly timeZone?: string;
};

export type LinkTokens = {
  sign(link: DecisionLink): Promise<string>;
  /** Undefined unless the token was signed here. It may have expired. */
  read(token: string): Promise<DecisionLink | undefined>;
};

/** In the token, names are short because links in mails should be. */
type Payload = { i: string; p: string; d: string; e: number; c: string; l?: string; z?: string };

const TOKEN = /^([\w-]{1,4000})\.([\w-]{43})$/;
/** So that a signature under the same secret for another purpose is not a link. */
const PURPOSE = 'countersign decision link 1';

/** The first secret signs, all of them are accepted. Without any, one is made and kept in the store for all processes. */
export function createSecrets(notes: Notes, given: string | readonly string[] = []): () => Promise<readonly string[]> {
  const named = [given].flat();
  let kept: Promise<string> | undefined;
  return async () => {
    if (named.length > 0) return named;
    kept ??= keptSecret(notes, COLLECTION, 'current').catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    return [await kept];
  };
}

export function createLinkTokens(notes: Notes, given?: string | readonly string[]): LinkTokens {
  const secrets = createSecrets(notes, given);
  return {
    async sign({ requestId: i, person: p, digest: d, expiresAt: e, channel: c, locale: l, timeZone: z }) {
      const payload = Buffer.from(JSON.stringify({ i, p, d, e, c, l, z } satisfies Unsure<Payload>)).toString(
        'base64url',
      );
      const [secret = ''] = await secrets();
      return `${payload}.${signatureOf(payload, secret).toString('base64url')}`;
    },
    async read(token) {
      const [, payload = '', signature = ''] = TOKEN.exec(token) ?? [];
      const sent = Buffer.from(signature, 'base64url');
      const fits = (await secrets()).map((secret) => isSame(signatureOf(payload, secret), sent));
      if (!fits.includes(true)) return undefined;
      const { i, p, d, e, c, l, z } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Payload;
      return { requestId: i, person: p, digest: d, expiresAt: e, channel: c, ...defined({ locale: l, timeZone: z }) };
    },
  };
}

type Unsure<T> = { [K in keyof T]: T[K] | undefined };

const signatureOf = (payload: string, secret: string): Buffer =>
  createHmac('sha256', secret).update(`${PURPOSE}\n${payload}`).digest();

const isSame = (own: Buffer, sent: Buffer): boolean => own.length === sent.length && timingSafeEqual(own, sent);

const COLLECTION = 'link-secrets';
