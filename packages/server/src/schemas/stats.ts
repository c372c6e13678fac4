// Numbers for the dashboard.
import { z } from '@hono/zod-openapi';
import { wholeNumber } from './page.ts';

const outcomes = {
  approved: z.int(),
  rejected: z.int(),
  answered: z.int(),
  cancelled: z.int(),
};

export const StatsShape = z
  .object({
    waiting: z.int(),
    oldestWaitingAt: z.number().nullable(),
    decided: z.int(),
    medianMs: z.number().nullable().openapi({ description: 'From the request to its decision.' }),
    p95Ms: z.number().nullable(),
    tools: z.array(z.object({ tool: z.string(), waiting: z.int(), ...outcomes, medianMs: z.number().nullable() })),
    days: z.array(z.object({ day: z.string().openapi({ example: '2026-01-31' }), ...outcomes })),
  })
  .openapi('Stats');

/** Numbers for the dashboard. */
export type Stats = Readonly<z.infer<typeof StatsShape>>;

export const StatsQueryShape = z.strictObject({
  days: wholeNumber(1, 366, { default: 30 }).optional(),
});
