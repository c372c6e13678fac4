// Figures about how people decide.
import { z } from '@hono/zod-openapi';
import { isTimeZone } from '../text/format.ts';
import { nameShape, wholeNumber } from './page.ts';

const counts = {
  requests: z.int(),
  decided: z.int().openapi({ description: 'By a person.' }),
  approved: z.int().openapi({ description: 'Those with changes included.' }),
  edited: z.int(),
  rejected: z.int(),
  answered: z.int(),
  cancelled: z.int().openapi({ description: 'Withdrawn ones included.' }),
  expired: z.int().openapi({ description: 'The deadline passed without a decision.' }),
};
const figures = {
  ...counts,
  medianMs: z.number().nullable().openapi({ description: 'From the request to the decision of a person.' }),
  p90Ms: z.number().nullable(),
};
const NamedFiguresShape = z.object({ name: z.string(), ...figures }).openapi('NamedFigures');
const hours = z.array(z.int()).openapi({ description: 'Votes in each of the 24 hours of the day.' });
const names = z.array(z.string());

export const InsightsShape = z
  .object({
    since: z.number().openapi({ description: 'Requests that were settled since then are counted.' }),
    isComplete: z.boolean().openapi({ description: 'False if only the newest requests were counted.' }),
    total: z.object(figures),
    days: z.array(z.object({ day: z.string().openapi({ example: '2026-01-31' }), ...counts })).openapi({
      description: 'By the day of settlement, in UTC.',
    }),
    tools: z.array(NamedFiguresShape),
    people: z.array(NamedFiguresShape).openapi({ description: 'By voter: a request counts for each.' }),
    policies: z.array(NamedFiguresShape),
    hours,
    load: z.array(z.object({ name: z.string(), hours })),
    quick: z.array(z.object({ name: z.string(), approvals: z.int(), medianMs: z.number() })).openapi({
      description: 'People with ten approvals or more, each within three seconds.',
    }),
    drills: z
      .object({
        expired: z.int(),
        warned: z.int().openapi({ description: 'How many of them a review had warned of.' }),
        people: z.array(z.object({ name: z.string(), caught: z.int(), missed: z.int() })),
      })
      .openapi({ description: 'Requests that had to be rejected. No other figure counts them.' }),
    grants: z
      .array(
        z.object({
          grant: z.string(),
          tool: z.string(),
          givenBy: z.string(),
          carried: z.int().openapi({ description: 'Calls that ran without a question.' }),
          status: z.enum(['active', 'used-up', 'expired', 'revoked']),
        }),
      )
      .openapi({ description: 'Given in the period, or active. Only for callers with the reach `all`.' }),
    observed: z
      .int()
      .openapi({ description: 'Calls that ran unasked, and that rules which observe would have asked about.' }),
    choices: z.object({ tools: names, people: names, policies: names }),
  })
  .openapi('Insights');

type Constant<T> = T extends object ? { readonly [name in keyof T]: Constant<T[name]> } : T;

/** How people decide: the figures of a period. */
export type Insights = Constant<z.infer<typeof InsightsShape>>;

export const InsightsQueryShape = z.strictObject({
  days: wholeNumber(1, 366, { default: 30 }).optional(),
  tool: nameShape.optional(),
  person: nameShape.optional(),
  policy: nameShape.optional(),
  timeZone: z
    .string()
    .max(100)
    .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
    .optional()
    .openapi({ description: 'Of the hours of the day; UTC by default.' }),
});
