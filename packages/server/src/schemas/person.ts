// Who asks, and what there is to ask: the answers to /me and /agents.
import { z } from '@hono/zod-openapi';
import { REACHES, SCOPES } from '../identity/person.ts';

export const MeShape = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    scopes: z.array(z.enum(SCOPES)),
    reach: z
      .enum(REACHES)
      .openapi({ description: '`own`: lists and numbers are of the runs that the caller started.' }),
    demo: z.boolean().openapi({ description: 'The model is the demo model, which follows a script.' }),
    model: z.string().openapi({ description: 'The name of the model in use.' }),
  })
  .openapi('Me');

/** Who asks, as `/me` tells it. */
export type Me = Readonly<z.infer<typeof MeShape>>;

export const AgentShape = z
  .object({
    name: z.string(),
    description: z.string(),
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        asks: z.enum(['always', 'sometimes', 'never', 'question']).openapi({
          description: 'Whether a person is asked before it runs; `question`: it is a question itself.',
        }),
      }),
    ),
  })
  .openapi('Agent');

/** An agent and its tools. */
export type AgentInfo = Readonly<z.infer<typeof AgentShape>>;
