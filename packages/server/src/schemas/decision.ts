// Schemas of decisions.
import { z } from '@hono/zod-openapi';
import { GrantGivenShape, GrantRequestShape } from './grant.ts';
import { anyJson as json } from './page.ts';
import { SignatureShape } from './passkey.ts';
import { WhoShape } from './request.ts';

export const reasonShape = z.string().max(10_000).optional();

const Approve = z.strictObject({ type: z.literal('approve'), edit: json.optional() }).openapi('Approve');
const Reject = z.strictObject({ type: z.literal('reject'), reason: reasonShape }).openapi('Reject');
const Revise = z
  .strictObject({
    type: z.literal('revise'),
    comment: z.string().max(2_000).regex(/\S/, 'must not be empty').openapi({
      description: 'The changes that the person asks for. The model, or the program that asked, reads it.',
    }),
  })
  .openapi('Revise', { description: 'Asks for changes. The call does not run, and a later call is the next round.' });
const Respond = z.strictObject({ type: z.literal('respond'), output: json }).openapi('Respond');
const Restart = z
  .strictObject({ type: z.literal('restart'), resumed: json.optional(), replaceInput: json.optional() })
  .openapi('Restart');
const Cancel = z.strictObject({ type: z.literal('cancel'), reason: reasonShape }).openapi('CancelRequest');

export const DecisionShape = z
  .discriminatedUnion('type', [Approve, Reject, Revise, Respond, Restart, Cancel])
  .openapi('Decision');

export const noteShape = z
  .string()
  .max(10_000)
  .optional()
  .openapi({ description: 'Recorded with the decision; the model does not see it.' });

export const DecideShape = z
  .strictObject({
    decision: DecisionShape,
    digest: z.string().max(200).optional().openapi({
      description: 'The digest of the card that the person saw; a decision on a different card is refused.',
    }),
    note: noteShape,
    signature: SignatureShape.optional().openapi({ description: 'Signs the decision with a passkey of the caller.' }),
    grant: GrantRequestShape.optional().openapi({
      description: 'Given with an approval, once it has settled the request.',
    }),
    onBehalfOf: z.string().min(1).max(200).optional().openapi({
      description: 'The absent person whom the caller stands in for. Can be left out if only one of them is a decider.',
    }),
    evenIfOutOfReach: z.boolean().optional().openapi({
      description: 'Records an edit after which the people who are known cannot give the votes that are needed.',
    }),
    seenForMs: z.int().min(0).max(86_400_000).optional().openapi({
      description: 'How long the person had the card in view. Recorded for the figures about decisions.',
    }),
  })
  .openapi('Decide');

const voteShape = z
  .object({
    by: z.string().nullable(),
    decision: z.unknown(),
    onBehalfOf: z.string().optional(),
    at: z.number().optional(),
  })
  .openapi('Vote');

/** The policy of the request asks for more votes. */
export const WaitingShape = z
  .object({
    status: z.literal('waiting'),
    requestId: z
      .string()
      .openapi({ description: 'The request to decide now: a new one if this vote edited the input.' }),
    runId: z.string(),
    votes: z.array(voteShape),
    missing: z.array(z.object({ of: WhoShape, count: z.int() })),
  })
  .openapi('Waiting');

export const DecidedShape = z
  .object({
    status: z.literal('settled'),
    requestId: z.string(),
    runId: z.string(),
    decision: z.unknown(),
    by: z.string().nullable(),
    channel: z.string().nullable(),
    note: z.string().nullable(),
    at: z.number(),
    drill: z.literal(true).optional().openapi({ description: 'The request was a drill. Nothing could run.' }),
    votes: z.array(voteShape).optional(),
    grant: GrantGivenShape.optional(),
  })
  .openapi('Decided');

export const DecideResultShape = z.discriminatedUnion('status', [DecidedShape, WaitingShape]).openapi('DecideResult');

export const AssignShape = z
  .union([
    z.strictObject({
      to: z
        .string()
        .min(1)
        .max(200)
        .nullable()
        .openapi({ description: 'The person who should decide; null for nobody.' }),
    }),
    z.strictObject({
      forMs: z.int().min(1000).max(3_600_000).openapi({
        description: 'The caller reviews the request for so long. Send it again to renew it.',
      }),
    }),
  ])
  .openapi('Assign');

export const CommentBodyShape = z
  .strictObject({
    text: z.string().max(2_000).regex(/\S/, 'must not be empty').openapi({ description: '`@ann` names a person.' }),
  })
  .openapi('CommentBody');
