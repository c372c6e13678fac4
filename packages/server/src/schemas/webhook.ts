// The schema of what webhooks post.
import { z } from '@hono/zod-openapi';
import { NOTICE_TYPES } from './notices.ts';
import { orNull } from './page.ts';
import { CallOutcomeShape, KINDS, RequestShape, RISKS } from './request.ts';

const REASONS = [
  'decider',
  'assignee',
  'escalated',
  'delegate',
  'everyone',
  'mentioned',
  'involved',
  'told-before',
  'requester',
  'approver',
] as const;

const moment = z.number().openapi({ description: 'In milliseconds.' });

const PostedRequestShape = RequestShape.omit({
  assignee: true,
  mayDecide: true,
  inputSchema: true,
  answerSchema: true,
  decision: true,
  problems: true,
}).openapi('WebhookRequest', { description: 'Everything that an approver sees. Get the rest from the API.' });

const DecisionShape = z
  .looseObject({
    type: z.enum(['approve', 'reject', 'revise', 'respond', 'restart', 'cancel']),
    by: z.string().nullable(),
    at: moment.nullable(),
    channel: z.string().nullable(),
    note: z.string().nullable().optional(),
    reason: z.string().optional(),
    comment: z.string().optional(),
    edit: z.unknown().optional(),
    output: z.unknown().optional(),
  })
  .openapi('WebhookDecision', {
    description: 'Without `note`, `reason`, `comment`, `edit` and `output` if `request` is withheld.',
  });

const DataShape = z
  .object({
    key: z.string().openapi({ description: 'The same for every attempt. Drop events whose key you have seen.' }),
    requestId: z.string(),
    runId: z.string(),
    agent: z.string(),
    tool: z.string(),
    title: z.string(),
    kind: z.enum(KINDS),
    risk: z.enum(RISKS).nullable(),
    number: z.int().openapi({ description: 'Which reminder or escalation it is, from 1; otherwise 0.' }),
    expiresAt: moment.nullable(),
    to: z.array(
      z.object({ person: z.string(), why: z.enum(REASONS), onBehalfOf: z.string().nullable() }).openapi('Recipient'),
    ),
    links: orNull(z.object({ request: z.string() })).openapi({ description: 'Pages of the inbox.' }),
    request: orNull(PostedRequestShape),
    withheld: z.enum(['by-tool', 'too-large']).nullable().openapi({
      description: 'Why `request` is null: its tool keeps it out of notices, or it does not fit. Get it from the API.',
    }),
    decision: orNull(DecisionShape).openapi({ description: 'Null while the request is pending.' }),
    outcome: orNull(CallOutcomeShape).openapi({
      description: 'Null while the request is pending. Without its text if the tool withholds the request.',
    }),
  })
  .openapi('WebhookData');

/** Fields may be added to version 1. A change that could break a receiver gets a new version. */
export const WebhookEventShape = z
  .object({
    type: z.enum(NOTICE_TYPES.map((type) => `request.${type}` as const)),
    version: z.literal(1),
    timestamp: z.string().openapi({ description: 'When it happened, in ISO 8601. Retries have the same.' }),
    data: DataShape,
  })
  .openapi('WebhookEvent');

/** What a webhook posts: something that happened to a request. */
export type WebhookEvent = z.infer<typeof WebhookEventShape>;
