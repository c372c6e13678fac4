// Schemas of decisions.
import { z } from '@hono/zod-openapi';

export const reasonShape = z.string().max(10_000).optional();

/** Presence counts: `{ type: 'respond', output: null }` answers null; without `output` it is invalid. */
const json = z
  .any()
  .refine((value) => value !== undefined, 'is missing')
  .openapi({ description: 'Any JSON.' });

const Approve = z.strictObject({ type: z.literal('approve'), edit: json.optional() });
const Reject = z.strictObject({ type: z.literal('reject'), reason: reasonShape });
const Respond = z.strictObject({ type: z.literal('respond'), output: json });
const Restart = z.strictObject({
  type: z.literal('restart'),
  resumed: json.optional(),
  replaceInput: json.optional(),
});
const Cancel = z.strictObject({ type: z.literal('cancel'), reason: reasonShape });

export const DecisionShape = z.discriminatedUnion('type', [Approve, Reject, Respond, Restart, Cancel]);

export const noteShape = z
  .string()
  .max(10_000)
  .optional()
  .openapi({ description: 'Recorded with the decision; the model does not see it.' });

export const DecideShape = z
  .strictObject({
    decision: DecisionShape,
    digest: z.string().max(200).optional().openapi({
      description: 'The digest of the card that the person saw; a decision on a different card is refused.',
    }),
    note: noteShape,
  })
  .openapi('Decide');

export const DecidedShape = z
  .object({
    interruptId: z.string(),
    runId: z.string(),
    decision: z.unknown(),
    by: z.string().nullable(),
    channel: z.string().nullable(),
    note: z.string().nullable(),
    at: z.number(),
    drill: z.literal(true).optional().openapi({ description: 'The request was a drill. Nothing could run.' }),
  })
  .openapi('Decided');

export const HoldRequestShape = z
  .strictObject({ forMs: z.int().min(1000).max(3_600_000).optional() })
  .openapi('HoldRequest', { description: 'Five minutes by default.' });
