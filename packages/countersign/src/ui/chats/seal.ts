// Seals: what leaves the server without a store, so that what comes back is known to be what left.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';

/** A secret and the name under which its seals are known. */
export type SealKey = { readonly kid: string; readonly secret: string | Uint8Array };

/** One secret, or several: the first seals, all of them open. */
export type SealKeys = string | readonly SealKey[];

/** The least that a secret must have. */
const MIN_SECRET_BYTES = 32;

export type Sealer = {
  seal(payload: object): string;
  /** Throws `bad-seal` unless it is a seal of one of the keys. Whether it has expired is for the caller to say. */
  open(token: string): Record<string, unknown>;
};

export function createSealer(keys: SealKeys): Sealer {
  const all = readKeys(keys);
  const [first] = all;
  if (!first) throw new UsageError('invalid-options', {}, 'There is no key to seal with.');
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
        throw bad('It has not the shape of a seal.');
      // The work is the same for a key that is not known.
      const expected = mac(key ?? first, `${version}.${kid}.${body}`);
      const sent = Buffer.from(given, 'base64url');
      const isSame = sent.length === expected.length && timingSafeEqual(sent, expected);
      if (!key || !isSame) throw bad('It was changed, or sealed with a key that is not known here.');
      const payload: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
      if (!isObject(payload)) throw bad('It holds nothing.');
      return payload;
    },
  };
}

const VERSION = 'cs1';

function readKeys(keys: SealKeys): readonly SealKey[] {
  const all = typeof keys === 'string' ? [{ kid: '1', secret: keys }] : keys;
  // Often it comes from the environment, and is not there.
  if (!Array.isArray(all) || !all.every(isKey))
    throw new UsageError('invalid-options', {}, '`secret` must be a text, or a list of keys with a kid and a secret.');
  const kids = all.map(({ kid }) => kid);
  const again = kids.find((kid, index) => kids.indexOf(kid) < index);
  // Only the first would ever open.
  if (again !== undefined)
    throw new UsageError('invalid-options', { kid: again }, `Two keys have the kid ${again}. Give each its own.`);
  for (const { kid, secret } of all) {
    if (!/^[\w-]{1,64}$/.test(kid))
      throw new UsageError('invalid-options', { kid }, `The kid of a key must be letters, digits, "_" or "-".`);
    if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
      throw new UsageError(
        'invalid-options',
        { kid },
        `The secret ${kid} is shorter than ${MIN_SECRET_BYTES} bytes. Draw one with: openssl rand -base64 32`,
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
