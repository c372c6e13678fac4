// Schemas of grants.
import { z } from '@hono/zod-openapi';
import { type GrantDetails, GrantRequestSchema, type GrantSimulation, type GrantView } from 'countersign/store';
import { dataSchemaShape } from './data-schema.ts';
import { nameShape, orNull, pageQuery } from './page.ts';

export const GrantRequestShape = z
  .strictObject({
    ...GrantRequestSchema.shape,
    schema: dataSchemaShape.optional().openapi({ description: 'A JSON Schema of the input.' }),
  })
  .openapi('GrantRequest', {
    description:
      'Lets the next calls of the same tool run without a request. By default, it serves only runs of the same agent that the same person started.',
  });

const { expiresAt: _expiresAt, ...limits } = GrantRequestShape.shape;

export const SimulateShape = z
  .strictObject({ tool: nameShape, grant: z.strictObject(limits).optional() })
  .openapi('SimulateGrant', { description: 'Without `grant`, only a suggestion is returned.' });

const moment = z.number().openapi({ description: 'In milliseconds.' });

export const GrantShape = z
  .object({
    ...limits,
    id: z.string(),
    tool: z.string(),
    expiresAt: moment,
    givenBy: z.string(),
    requestId: z.string().openapi({ description: 'The request that was approved with it.' }),
    step: z.int().optional().openapi({ description: 'The place of the step, if the request was a plan.' }),
    inputDigest: z.string().optional().openapi({ description: 'It covers only calls with exactly this input.' }),
    runId: z.string().optional().openapi({ description: 'It serves only calls of this run.' }),
    madeAt: moment,
    status: z.enum(['active', 'used-up', 'expired', 'revoked']),
    left: z.object({ uses: z.number(), amount: z.number().optional() }),
    revoked: z.object({ by: z.string().nullable(), at: moment, reason: z.string().optional() }).nullable(),
    mayRevoke: z.boolean().openapi({ description: 'Whether the caller may revoke it now.' }),
  } satisfies Record<keyof Grant, z.ZodType>)
  .openapi('Grant');

/** The grant that was given with a decision. */
export const GrantGivenShape = z
  .object({ id: z.string(), tool: z.string(), uses: z.number(), expiresAt: moment })
  .openapi('GivenGrant');

/** A grant as a caller sees it. */
export type Grant = Omit<GrantView, 'votes'> & { readonly mayRevoke: boolean };

export const GrantDetailsShape = GrantShape.extend({
  calls: z.array(
    z.object({
      key: z.string(),
      runId: z.string(),
      requestId: z.string().openapi({ description: 'Of its row in the history.' }),
      title: z
        .string()
        .nullable()
        .optional()
        .openapi({ description: 'Of the newest 50 calls that the caller can see.' }),
      at: moment,
      amount: z.number().optional(),
      status: z.enum(['reserved', 'spent']),
    }),
  ),
}).openapi('GrantDetails');

/** A grant with the calls that used it. */
export type GrantInDetail = Grant & {
  readonly calls: readonly (GrantDetails['calls'][number] & { readonly title?: string | null | undefined })[];
};

const count = z.int().min(0);

export const SimulationShape = z
  .object({
    requests: count,
    more: z.boolean().openapi({ description: 'Older requests exist that were not looked at.' }),
    matching: count,
    letThrough: count,
    approved: count,
    edited: count,
    rejected: count,
    otherwise: z.array(z.string()),
  } satisfies Record<keyof GrantSimulation, z.ZodType>)
  .openapi('GrantSimulation', { description: 'Only requests that the caller can see are counted.' });

export const SimulatedShape = z
  // Unions, because `nullable` on a shape with a description does not say in the OpenAPI document that it may be null.
  .object({
    simulation: orNull(SimulationShape),
    suggestion: orNull(GrantRequestShape),
  })
  .openapi('SimulatedGrant');

export const GrantQueryShape = z.strictObject({
  tool: nameShape.optional(),
  status: z.enum(['active', 'used-up', 'expired', 'revoked']).optional(),
  ...pageQuery,
});

export const RevokeShape = z.strictObject({ reason: z.string().max(10_000).optional() }).openapi('RevokeGrant');

export const grantIdShape = z.string().regex(/^[\w-]{1,128}$/, 'must be the id of a grant');
