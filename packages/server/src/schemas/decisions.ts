// Schemas of many decisions at once.
import { z } from '@hono/zod-openapi';
import { DecidedShape, DecisionShape, noteShape, reasonShape, WaitingShape } from './decision.ts';
import { ProblemShape } from './problem.ts';
import { requestIdShape } from './request.ts';

/** More items need several requests. */
export const MOST_ITEMS = 500;

const DecideItemShape = z
  .strictObject({
    requestId: requestIdShape,
    digest: z.string().min(1).max(200).openapi({ description: 'The digest of the card that the person saw.' }),
    decision: DecisionShape,
  })
  .openapi('DecideItem');

export type DecideItem = z.output<typeof DecideItemShape>;

export const DecideManyShape = z
  .strictObject({
    items: z
      .array(DecideItemShape)
      .min(1)
      .max(MOST_ITEMS)
      .superRefine((items, context) => {
        const seen = new Set<string>();
        for (const [index, { requestId }] of items.entries()) {
          if (seen.has(requestId))
            context.addIssue({ code: 'custom', path: [index, 'requestId'], message: 'is duplicated' });
          seen.add(requestId);
        }
      }),
    reason: reasonShape.openapi({ description: 'For every item that rejects or cancels without its own reason.' }),
    note: noteShape,
  })
  .openapi('DecideMany');

const refused = z
  .object({
    status: z.enum(['outdated', 'conflict', 'not-allowed', 'invalid', 'unknown', 'failed']).openapi({
      description:
        '`outdated`: the card changed and stays open; load it again. `conflict`: it was settled differently. `unknown`: it ' +
        'does not exist, or the caller cannot see it. `failed`: an error of the server; send the item again.',
    }),
    requestId: z.string(),
    problem: ProblemShape,
  })
  .openapi('RefusedDecision');

export const DecisionOutcomeShape = z
  .discriminatedUnion('status', [DecidedShape, WaitingShape, refused])
  .openapi('DecisionOutcome');

/** What became of one of many decisions. */
export type DecisionOutcome = z.infer<typeof DecisionOutcomeShape>;

export const DecisionOutcomesShape = z.object({ items: z.array(DecisionOutcomeShape) }).openapi('DecisionOutcomes');
