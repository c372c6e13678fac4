// Schemas of pages and of values in URLs.
import { z } from '@hono/zod-openapi';

/** A whole number in a URL. */
export const wholeNumber = (minimum: number, maximum: number, about: { description?: string; default?: number } = {}) =>
  z
    .string()
    .regex(/^\d{1,16}$/, `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .pipe(z.number().min(minimum).max(maximum))
    .openapi({ type: 'integer', minimum, maximum, ...about });

export const pageQuery = {
  cursor: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[\x20-\x7e]+$/, 'must be the `cursor` of a page')
    .optional()
    .openapi({ description: 'The `cursor` of the page before.' }),
  limit: wholeNumber(1, 200, { default: 50 }).optional(),
};

export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    cursor: z.string().nullable().openapi({ description: 'Null on the last page.' }),
  });

/** Presence counts: null is a value, and a field that is left out is missing. */
export const anyJson = z
  .any()
  .refine((value) => value !== undefined, 'is missing')
  .openapi({ description: 'Any JSON.' });

/** A named shape or null. Not `nullable`, which would say in the OpenAPI document that the shape itself may be null. */
export const orNull = <Shape extends z.ZodType>(shape: Shape) => z.union([shape, z.null()]);

/** Not `.` or `..`, which change the path of a URL. */
export const runIdShape = z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,128}$/, 'must be letters, digits, "_", "." or "-"');

/** Not `stream` or `watch` either, which follow the id in a URL. */
export const chatIdShape = z
  .string()
  .regex(/^(?!(\.{1,2}|stream|watch)$)[\w.-]{1,128}$/, 'must be letters, digits, "_", "." or "-", not stream or watch');

/** Names of agents, tools and labels: short strings of one line. */
export const nameShape = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters')
  // The generator of the document would write the flag into the pattern.
  .openapi({ pattern: '^[^\\p{Cc}\\p{Cs}]*$' });

/** The last millisecond of a date. */
const LAST_MOMENT = 8_640_000_000_000_000;

/** A time in a URL. */
export const timeShape = wholeNumber(0, LAST_MOMENT, { description: 'In milliseconds.' });
