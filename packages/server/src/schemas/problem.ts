// Schema of errors.
import { z } from '@hono/zod-openapi';
import { GateShape } from './gate.ts';

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
      .openapi({ description: 'The faults of a decision: `path` leads into the edited input or the answer.' }),
    settlement: z.unknown().optional().openapi({ description: 'With `already-decided`: who decided what, and when.' }),
    // Without a description, which would become that of `Gate`.
    gate: GateShape.optional(),
    assignee: z
      .object({ person: z.string(), until: z.number().nullable() })
      .optional()
      .openapi({ description: 'With `claimed`: whose request it is, and until when.' }),
  })
  .openapi('Problem');

/** An error of the API. */
export type ApiProblem = z.infer<typeof ProblemShape>;
