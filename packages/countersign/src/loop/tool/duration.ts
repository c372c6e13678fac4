// Durations, in milliseconds or as a short text.

/** Milliseconds, or a text: `'30s'`, `'30m'`, `'4h'`, `'2d'`. In business hours, days are working days. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/** `days` is present if the duration was given in days. */
export type Span = { readonly ms: number; readonly days?: number };

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** No request waits longer than ten years. */
export const LONGEST_SPAN_MS = 3_653 * UNITS.d;

/** Undefined if it is not a duration. */
export function spanOf(value: unknown): Span | undefined {
  const [, digits = '', unit = ''] = typeof value === 'string' ? (/^(\d{1,9})([smhd])$/.exec(value) ?? []) : [];
  const count = Number(digits);
  const ms = typeof value === 'number' ? Math.ceil(value) : unit && count * UNITS[unit as keyof typeof UNITS];
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= LONGEST_SPAN_MS)) return undefined;
  return unit === 'd' ? { ms, days: count } : { ms };
}
