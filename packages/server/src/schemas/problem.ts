// What an error looks like on the wire.
import { z } from '@hono/zod-openapi';

export const ProblemShape = z
  .object({
    type: z.string().openapi({ example: 'urn:countersign:unknown-run' }),
    title: z.string(),
    status: z.int(),
    code: z.string().openapi({ description: 'Stable. See `docs/reference/errors.md`.', example: 'unknown-run' }),
    detail: z.string(),
    problems: z
      .array(z.object({ path: z.array(z.string()), message: z.string() }))
      .optional()
      .openapi({ description: 'Where a decision does not fit: `path` leads into the edited input or the answer.' }),
    settlement: z.unknown().optional().openapi({ description: 'With `already-decided`: who decided what, when.' }),
    claim: z
      .object({ by: z.string(), until: z.number() })
      .optional()
      .openapi({ description: 'With `claimed`: who works on it, until when.' }),
  })
  .openapi('Problem');

/** An error as the API tells it. */
export type ApiProblem = z.infer<typeof ProblemShape>;
