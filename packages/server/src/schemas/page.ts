// Pages of lists: how they are asked for, and what they are.
import { z } from '@hono/zod-openapi';

/** A whole number in an address. `default` is what stands in the document for an absent one. */
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

/** No dots alone: an address with them leads elsewhere. */
export const runIdShape = z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,128}$/, 'must be letters, digits, "_", "." or "-"');

/** Nor what stands behind the id of a chat in an address. */
export const chatIdShape = z
  .string()
  .regex(/^(?!(\.{1,2}|stream|watch)$)[\w.-]{1,128}$/, 'must be letters, digits, "_", "." or "-", not stream or watch');

/** Names of agents, tools, labels: short texts of one line. */
export const nameShape = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters');

/** Milliseconds, within what a date can be. */
export const timeShape = wholeNumber(0, 8_640_000_000_000_000, { description: 'In milliseconds.' });
