// Seals: signed tokens that let a server without a store recognise its own data when it comes back.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { UsageError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

/** A secret, and the key id that its seals carry. */
export type SealKey = { readonly kid: string; readonly secret: string | Uint8Array };

/** One secret, or several: the first one seals, any of them opens. */
export type SealKeys = string | readonly SealKey[];

const MIN_SECRET_BYTES = 32;

export type Sealer = {
  seal(payload: object): string;
  /** Undefined unless one of the keys made it. The caller checks whether it has expired. */
  open(token: string): Record<string, unknown> | undefined;
};

export function createSealer(keys: SealKeys): Sealer {
  const all = readKeys(keys);
  const [first] = all as readonly [SealKey, ...SealKey[]];
  return {
    seal(payload) {
      const body = Buffer.from(JSON.stringify(payload)).toString('base64url');
      const signed = `${VERSION}.${first.kid}.${body}`;
      return `${signed}.${mac(first, signed).toString('base64url')}`;
    },
    open(token) {
      const [version, kid, body = '', given = '', ...more] = token.split('.');
      if (version !== VERSION || more.length > 0) return undefined;
      const key = all.find((key) => key.kid === kid);
      // An unknown key takes the same time.
      const expected = mac(key ?? first, `${version}.${kid}.${body}`);
      const sent = Buffer.from(given, 'base64url');
      if (!key || sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined;
      return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
    },
  };
}

const VERSION = 'cs1';

function readKeys(keys: SealKeys): readonly SealKey[] {
  const all = typeof keys === 'string' ? [{ kid: '1', secret: keys }] : keys;
  // It often comes from an environment variable that is not set.
  if (!Array.isArray(all) || all.length === 0 || !all.every(isKey)) throw invalid(SECRET);
  const kids = all.map(({ kid }) => kid);
  // Of two keys with one kid, only the first would ever open a seal.
  if (new Set(kids).size < kids.length) throw invalid('Two keys of `secret` have the same kid. Give each key its own.');
  const short = all.find(({ secret }) => Buffer.byteLength(secret) < MIN_SECRET_BYTES);
  if (short)
    throw invalid(
      `The secret ${short.kid} is shorter than ${MIN_SECRET_BYTES} bytes. Generate one: openssl rand -base64 32`,
    );
  return all;
}

const SECRET = '`secret` must be a string, or an array of keys with a secret and a kid of letters, digits, "_" or "-".';

function isKey(key: unknown): key is SealKey {
  if (!isObject(key) || typeof key.kid !== 'string' || !/^[\w-]{1,64}$/.test(key.kid)) return false;
  return typeof key.secret === 'string' || key.secret instanceof Uint8Array;
}

function invalid(problem: string): UsageError {
  return new UsageError('invalid-options', {}, problem);
}

function mac({ secret }: SealKey, signed: string): Buffer {
  return createHmac('sha256', secret).update(signed).digest();
}
