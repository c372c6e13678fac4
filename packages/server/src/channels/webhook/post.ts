// Posts a body to a URL, and connects only to an address that was checked.
import { lookup as lookupHost } from 'node:dns/promises';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, connect as tcpConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { DeliveryError } from '../delivery-error.ts';
import { type AddressRule, hostOf, refusedAddress } from './addresses.ts';

export type Resolved = { readonly address: string; readonly family: number };

/** How to reach receivers. */
export type Route = {
  readonly refusal: AddressRule;
  readonly resolve: (host: string) => Promise<readonly Resolved[]>;
};

export type Posted = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly signal: AbortSignal;
};

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The beginning of the body. */
  readonly text: string;
};

export const resolveHost = (host: string): Promise<readonly Resolved[]> => lookupHost(host, { all: true });

/**
 * Resolves with the answer, whatever its status. Redirects that keep the method (307 and 308) are followed within the origin of
 * `url`, and every connection is checked again. Another origin would get the contents without the operator's consent.
 */
export async function post(url: URL, posted: Posted, route: Route): Promise<Answer> {
  let target = url;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const answer = await postOnce(target, posted, route);
    const next = redirectOf(answer, target);
    if (next === undefined) return answer;
    if (next.origin !== url.origin)
      throw new DeliveryError(
        `${url.host} redirects to ${next.origin}. Set \`url\` to the new address if you trust it.`,
      );
    target = next;
  }
  throw new DeliveryError(`${url.host} redirected more than ${MOST_REDIRECTS} times.`);
}

/** Connects, with the handshake of TLS, and sends nothing. */
export async function connect(url: URL, signal: AbortSignal, route: Route): Promise<void> {
  const isEncrypted = url.protocol === 'https:';
  const host = checkedHost(url, route);
  const port = Number(url.port || (isEncrypted ? 443 : 80));
  const lookup = checkedLookup(url, route);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = isEncrypted
    ? tlsConnect({ host, port, lookup, ...(isIP(host) === 0 && { servername: host }) }, resolve)
    : tcpConnect({ host, port, lookup }, resolve);
  const stop = () => socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  socket.on('error', reject);
  await promise.finally(() => {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  });
}

const MOST_REDIRECTS = 3;

function redirectOf({ status, headers }: Answer, from: URL): URL | undefined {
  if (status !== 307 && status !== 308) return undefined;
  return headers.location !== undefined && URL.canParse(headers.location, from.href)
    ? new URL(headers.location, from)
    : undefined;
}

/** Every request has its own connection, so that each is checked. */
function postOnce(url: URL, { headers, body, signal }: Posted, route: Route): Promise<Answer> {
  checkedHost(url, route);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = { method: 'POST', headers, signal, agent: false, lookup: checkedLookup(url, route) } as const;
  const request = send(url, options, (response) => {
    const { statusCode: status = 0, headers } = response;
    // From here on, an error of the connection does not count.
    resolve(beginningOf(response).then((text) => ({ status, headers, text })));
  });
  request.on('error', reject);
  request.end(body);
  return promise;
}

/** An address in the URL itself is not looked up. */
function checkedHost(url: URL, { refusal }: Route): string {
  const refused = refusedAddress(url, refusal);
  if (refused !== undefined) throw new DeliveryError(`${url.host}: ${refused}.`);
  return hostOf(url);
}

/** Gives the socket only addresses that passed: a second answer of the DNS cannot differ, because it is never asked for. */
function checkedLookup(url: URL, { refusal, resolve }: Route): LookupFunction {
  return (host, { all }, callback) => {
    const answer = async (): Promise<readonly [Resolved, ...Resolved[]]> => {
      const found = await resolve(host);
      const [first, ...rest] = found.filter(({ address }) => refusal(url, address) === undefined);
      if (first) return [first, ...rest];
      const refused = found.map(({ address }) => refusal(url, address));
      throw new DeliveryError(`${url.host}: ${refused[0] ?? 'the name has no address'}.`);
    };
    answer().then(
      ([first, ...rest]) =>
        all ? callback(null, [{ ...first }, ...rest]) : callback(null, first.address, first.family),
      (error: Error) => callback(error, []),
    );
  };
}

const MOST_BYTES = 4_096;

/** Reads no more than the beginning. A body that is cut off, or does not end, does not change the status that was received. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MOST_BYTES) break;
    }
  } catch {
    // What arrived before is enough.
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8');
}
