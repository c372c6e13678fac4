// JSON Schemas that callers send: the server checks values with them, in limited steps.
import { z } from '@hono/zod-openapi';
import { dataSchemaProblem } from 'countersign/ui';

export const dataSchemaShape = z
  .record(z.string(), z.unknown())
  .refine((schema) => dataSchemaProblem(schema) === undefined, {
    error: ({ input }) => `${dataSchemaProblem(input)}. Write the schema out`,
  });
