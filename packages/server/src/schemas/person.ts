// Schemas of the caller and the agents: /me and /agents.
import { z } from '@hono/zod-openapi';
import { REACHES, SCOPES } from '../identity/person.ts';

export const MeShape = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    scopes: z.array(z.enum(SCOPES)),
    reach: z
      .enum(REACHES)
      .openapi({ description: '`own`: lists and statistics cover the runs that the caller started.' }),
    roles: z.array(z.string()).openapi({ description: 'The roles that the caller has by signing in.' }),
    demo: z
      .boolean()
      .openapi({ description: 'The model is the stand-in, which picks tools by the words of a message.' }),
    model: z.string().openapi({ description: 'The name of the model in use.' }),
  })
  .openapi('Me');

/** The caller, as `/me` returns it. */
export type Me = Readonly<z.infer<typeof MeShape>>;

export const AgentShape = z
  .object({
    name: z.string(),
    description: z.string(),
    suggestions: z.array(z.string()).openapi({ description: 'Messages that a chat offers to begin with.' }),
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        asks: z.enum(['always', 'sometimes', 'never', 'question']).openapi({
          description:
            'Whether it needs approval before it runs; `question`: the tool itself is a question to a person.',
        }),
      }),
    ),
  })
  .openapi('Agent');

/** An agent and its tools. */
export type AgentInfo = Readonly<z.infer<typeof AgentShape>>;
