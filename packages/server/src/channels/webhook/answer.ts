// What the answer of a receiver means for the delivery.
import { visibleLine } from '../../text/visible-text.ts';
import { DeliveryError } from '../delivery-error.ts';
import type { Answer } from './post.ts';

/** Throws unless the status is one of success. The body does not matter. */
export function checkAnswer({ host }: URL, { status, headers, text }: Answer): void {
  if (status >= 200 && status < 300) return;
  const said = text === '' ? '' : `: ${visibleLine(text.slice(0, 200))}`;
  if (status === 410)
    throw new DeliveryError(`${host} answered 410: it no longer takes these notices. Remove the channel.`, {
      retryable: false,
    });
  if (status >= 300 && status < 400)
    throw new DeliveryError(
      `${host} answered ${status}, a redirect that would lose the body. Set \`url\` to its new address.`,
    );
  throw new DeliveryError(`${host} answered ${status}${said}`, { retryAfterMs: waitOf(headers['retry-after']) });
}

const A_DAY = 24 * 60 * 60 * 1_000;

/** `Retry-After` is a number of seconds or a date. A receiver cannot hold a notice back for more than a day. */
export function waitOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(0, wait), A_DAY);
}
