// Schema of messages.
import { z } from '@hono/zod-openapi';

export const MessageShape = z
  .looseObject({
    role: z.enum(['system', 'user', 'model', 'tool']),
    content: z.array(z.looseObject({})).openapi({
      description: 'Parts: `text`, `reasoning`, `media`, `data`, `toolRequest` or `toolResponse`.',
    }),
  })
  .openapi('Message');
