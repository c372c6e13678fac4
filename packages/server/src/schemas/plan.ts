// Schemas of plans: their steps, and what came of each.
import { z } from '@hono/zod-openapi';
import type { PlanProgress } from 'countersign/store';
import { GrantRequestShape } from './grant.ts';

const { where, uses, budget } = GrantRequestShape.shape;

const StepShape = z
  .object({
    tool: z.string(),
    input: z.unknown().openapi({ description: 'Exactly this input, or an example if there is `where`.' }),
    where,
    uses: uses.optional(),
    budget,
    title: z.string().nullable(),
    status: z.enum(['proposed', 'rejected', 'active', 'used-up', 'expired', 'revoked']),
    grantId: z.string().nullable(),
    left: z.int().openapi({ description: 'How many calls may still run.' }),
    calls: z.array(z.object({ requestId: z.string(), runId: z.string(), at: z.number(), outcome: z.unknown() })),
  } satisfies Record<keyof Plan['steps'][number], z.ZodType>)
  .openapi('PlanStep');

export const PlanShape = z.object({ requestId: z.string(), steps: z.array(StepShape) }).openapi('Plan');

/** The steps of a plan, with what came of each. */
export type Plan = PlanProgress;
