// What the engine takes from Node, for browsers: hashes, random bytes, turns of the event loop, and `Buffer`.
// The engine is for servers. Only the playground runs it in a page, on the store in memory.

type Encoding = 'utf8' | 'hex' | 'base64' | 'base64url';

export class Bytes extends Uint8Array {
  override toString(encoding: Encoding = 'utf8'): string {
    if (encoding === 'utf8') return new TextDecoder().decode(this);
    if (encoding === 'hex') return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const text = btoa(Array.from(this, (byte) => String.fromCharCode(byte)).join(''));
    return encoding === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  }
}

export function bytesOf(value: string | ArrayLike<number>, encoding: Encoding = 'utf8'): Bytes {
  if (typeof value !== 'string') return new Bytes(value);
  if (encoding === 'utf8') return new Bytes(new TextEncoder().encode(value));
  if (encoding === 'hex') return Bytes.from(value.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)) as Bytes;
  const text = atob(value.replaceAll('-', '+').replaceAll('_', '/'));
  return Bytes.from(text, (character) => character.charCodeAt(0)) as Bytes;
}

export function compare(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, index) => byte !== other[index]);
  return Math.sign(at === -1 ? one.length - other.length : (one[at] ?? 0) - (other[at] ?? -1));
}

const page: { Buffer?: unknown; setImmediate?: unknown; clearImmediate?: unknown } = globalThis;
page.Buffer ??= { from: bytesOf, allocUnsafe: (size: number) => new Bytes(size), compare };
page.setImmediate ??= (work: () => void) => setTimeout(work);
page.clearImmediate ??= (scheduled?: number) => clearTimeout(scheduled);

export const setImmediate = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
export const randomFillSync = (bytes: Uint8Array<ArrayBuffer>): Uint8Array => crypto.getRandomValues(bytes);
export const randomUUID = (): string => crypto.randomUUID();

/** The engine hashes while it records, and the SHA-256 of browsers is asynchronous. */
export function hash(_algorithm: 'sha256', data: string | Uint8Array, encoding: Encoding): string {
  const message = bytesOf(data);
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) * 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const words = new DataView(padded.buffer);
  words.setUint32(padded.length - 8, message.length / 2 ** 29);
  words.setUint32(padded.length - 4, message.length << 3);
  const state = new Uint32Array(START);
  for (let at = 0; at < padded.length; at += 64) addBlock(state, words, at);
  const result = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => {
    result.setUint32(index * 4, word);
  });
  return new Bytes(result.buffer).toString(encoding);
}

/** The first 32 bits of the fraction of a number. */
const fraction = (number: number): number => ((number % 1) * 2 ** 32) >>> 0;
const isPrime = (number: number): boolean => {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
};
const PRIMES = Array.from({ length: 310 }, (_, index) => index + 2).filter(isPrime);
const ROUNDS = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function addBlock(state: Uint32Array, message: DataView, from: number): void {
  const schedule = new Uint32Array(64);
  const at = (index: number): number => schedule[index] ?? 0;
  for (let index = 0; index < 64; index++) {
    if (index < 16) schedule[index] = message.getUint32(from + index * 4);
    else {
      const [near, far] = [at(index - 2), at(index - 15)];
      const spread =
        (turned(far, 7) ^ turned(far, 18) ^ (far >>> 3)) + (turned(near, 17) ^ turned(near, 19) ^ (near >>> 10));
      schedule[index] = at(index - 16) + at(index - 7) + spread;
    }
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index++) {
    const chosen = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g));
    const first = (h + chosen + (ROUNDS[index] ?? 0) + at(index)) | 0;
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index] = (state[index] ?? 0) + word;
  });
}
