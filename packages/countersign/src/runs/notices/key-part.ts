// Parts of note keys, which are joined with `|`: an id that does not fit becomes its hash.
import { shortHash } from '../port/chain.ts';

const FITS = /^[\w.:~@+-]{0,160}$/;

/** Different ids have different parts, and no part has a `|`. */
export const keyPart = (id: string): string => (FITS.test(id) ? id : `#${shortHash(id)}`);

const DIGITS = 15;

/** A time as text that sorts like the time. */
export const timePart = (at: number): string => String(Math.max(0, Math.floor(at))).padStart(DIGITS, '0');

/** A time as text that sorts later times first. */
export const newestFirst = (at: number): string => timePart(10 ** DIGITS - 1 - Math.floor(at));
