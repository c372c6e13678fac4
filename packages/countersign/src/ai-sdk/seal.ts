// Seals: text that only the holder of the secret can have written, and that everybody can carry.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { UsageError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

/** A secret and the name under which its seals are known. */
export type SealKey = { readonly kid: string; readonly secret: string };

/** One secret, or several: the first seals, all of them open. */
export type SealKeys = string | readonly SealKey[];

export type Sealer = {
  seal(claims: object): string;
  /** Undefined unless it was sealed with one of the keys. Whether it is too old is for the caller to say. */
  open(token: string): Record<string, unknown> | undefined;
};

const SHORTEST_SECRET = 32;

export function createSealer(given: SealKeys): Sealer {
  const keys = typeof given === 'string' ? [{ kid: '1', secret: given }] : given;
  for (const { kid, secret } of keys)
    if (typeof kid !== 'string' || typeof secret !== 'string' || Buffer.byteLength(secret) < SHORTEST_SECRET)
      throw new UsageError(
        'invalid-options',
        { kid },
        `A key to seal with needs a kid and a secret of at least ${SHORTEST_SECRET} bytes.`,
      );
  const [first] = keys;
  if (!first) throw new UsageError('invalid-options', {}, 'There is no key to seal with.');
  return {
    seal(claims) {
      const body = Buffer.from(JSON.stringify({ ...claims, kid: first.kid })).toString('base64url');
      return `${body}.${macOf(first, body).toString('base64url')}`;
    },
    open(token) {
      const [body = '', mac = ''] = token.split('.');
      const sent = Buffer.from(mac, 'base64url');
      // Every key is tried: which one it was must not be taken from a text that is not proved yet.
      const isProved = keys.some((key) => isSame(macOf(key, body), sent));
      const claims: unknown = isProved && JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
      return isObject(claims) ? claims : undefined;
    },
  };
}

const macOf = ({ secret }: SealKey, body: string): Buffer => createHmac('sha256', secret).update(body).digest();

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);
