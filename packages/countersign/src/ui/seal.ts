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
  /** Throws `bad-seal` unless one of the keys made it. The caller checks whether it has expired. */
  open(token: string): Record<string, unknown>;
};

export function createSealer(keys: SealKeys): Sealer {
  const all = readKeys(keys);
  const [first] = all;
  if (!first) throw new UsageError('invalid-options', {}, '`secret` is an empty list. Pass at least one key.');
  return {
    seal(payload) {
      const body = Buffer.from(JSON.stringify(payload)).toString('base64url');
      const signed = `${VERSION}.${first.kid}.${body}`;
      return `${signed}.${mac(first, signed).toString('base64url')}`;
    },
    open(token) {
      const [version, kid, body, given, ...more] = token.split('.');
      const key = all.find((key) => key.kid === kid);
      if (version !== VERSION || body === undefined || given === undefined || more.length > 0)
        throw bad('It does not have the format of a seal.');
      // An unknown key takes the same time.
      const expected = mac(key ?? first, `${version}.${kid}.${body}`);
      const sent = Buffer.from(given, 'base64url');
      const isSame = sent.length === expected.length && timingSafeEqual(sent, expected);
      if (!key || !isSame) throw bad('It was changed, or made with an unknown key.');
      const payload: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
      if (!isObject(payload)) throw bad('It is empty.');
      return payload;
    },
  };
}

const VERSION = 'cs1';

function readKeys(keys: SealKeys): readonly SealKey[] {
  const all = typeof keys === 'string' ? [{ kid: '1', secret: keys }] : keys;
  // It often comes from an environment variable that is not set.
  if (!Array.isArray(all) || !all.every(isKey))
    throw new UsageError(
      'invalid-options',
      {},
      '`secret` must be a string, or an array of keys with a kid and a secret.',
    );
  const kids = all.map(({ kid }) => kid);
  const duplicate = kids.find((kid, index) => kids.indexOf(kid) < index);
  // Only the first of them would ever open a seal.
  if (duplicate !== undefined)
    throw new UsageError(
      'invalid-options',
      { kid: duplicate },
      `Two keys have the kid ${duplicate}. Give each key its own.`,
    );
  for (const { kid, secret } of all) {
    if (!/^[\w-]{1,64}$/.test(kid))
      throw new UsageError('invalid-options', { kid }, `A kid must consist of letters, digits, "_" or "-".`);
    if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
      throw new UsageError(
        'invalid-options',
        { kid },
        `The secret ${kid} is shorter than ${MIN_SECRET_BYTES} bytes. Generate one with: openssl rand -base64 32`,
      );
  }
  return all;
}

function isKey(key: unknown): key is SealKey {
  if (!isObject(key) || typeof key.kid !== 'string') return false;
  return typeof key.secret === 'string' || key.secret instanceof Uint8Array;
}

function mac({ secret }: SealKey, signed: string): Buffer {
  return createHmac('sha256', secret).update(signed).digest();
}

function bad(problem: string): UsageError {
  return new UsageError('bad-seal', { status: 403 }, `The seal cannot be opened. ${problem}`);
}
