// Schemas of runs and their events.
import { z } from '@hono/zod-openapi';
import type { Message } from 'countersign';
import type { Usage } from 'countersign/request';
import { MessageShape } from './message.ts';
import { nameShape, pageQuery, runIdShape, wholeNumber } from './page.ts';
import { type ApiRequest, RequestShape } from './request.ts';

export const STATUSES = ['running', 'waiting', 'done', 'failed', 'cancelled'] as const;

const tokens = z.int().min(0);

const UsageShape = z.object({
  inputTokens: tokens,
  outputTokens: tokens,
  totalTokens: tokens,
  reasoningTokens: tokens.optional(),
  cachedInputTokens: tokens.optional(),
});

export const RunSummaryShape = z
  .object({
    id: z.string(),
    agent: z.string(),
    title: z.string().nullable().openapi({ description: 'The first words of the user.' }),
    waitsFor: z
      .object({ requestId: z.string(), tool: z.string(), title: z.string().nullable() })
      .nullable()
      .openapi({ description: 'The oldest pending request of a run that waits, with its title.' }),
    usage: UsageShape.nullable().openapi({
      description:
        'The tokens of all replies so far, including sub-agents: `inputTokens`, `outputTokens`, `totalTokens`, and ' +
        '`reasoningTokens` and `cachedInputTokens` if known. Null if no provider reported any.',
    }),
    failures: z.int().openapi({
      description: 'How many calls that a person or a grant let run have failed, or ended without anyone knowing how.',
    }),
    status: z.enum(STATUSES),
    startedBy: z.string().nullable(),
    createdAt: z.number(),
    updatedAt: z.number(),
    version: z.int().openapi({ description: 'The number of its events.' }),
    drill: z.literal(true).optional().openapi({ description: 'On the ended run of a drill. Nothing could run in it.' }),
  })
  .openapi('RunSummary');

/** A run without its conversation. */
export type RunSummary = Readonly<Omit<z.infer<typeof RunSummaryShape>, 'usage'>> & { readonly usage: Usage | null };

export const RunShape = RunSummaryShape.extend({
  messages: z.array(MessageShape),
  text: z.string().openapi({ description: "The text of the model's last reply." }),
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
  finishReason: z.string().nullable(),
  pending: z.array(z.string()).openapi({ description: 'The ids of the pending requests.' }),
  requests: z.array(RequestShape).openapi({
    description: 'Its requests, oldest first, at most 200: all pending ones and the latest of the others.',
  }),
}).openapi('Run', { description: 'Without the scope `read`, its texts and lists are empty.' });

/** A run with its conversation and its requests. */
export type Run = Readonly<Omit<z.infer<typeof RunShape>, 'usage' | 'messages' | 'pending' | 'requests'>> & {
  readonly usage: Usage | null;
  readonly messages: readonly Message[];
  readonly pending: readonly string[];
  readonly requests: readonly ApiRequest[];
};

export const StartShape = z
  .strictObject({
    agent: nameShape,
    prompt: z.string().min(1).max(100_000),
    runId: runIdShape.optional().openapi({ description: 'Random by default.' }),
  })
  .openapi('Start');

export const CancelShape = z.strictObject({ reason: z.string().max(2000).optional() }).openapi('Cancel');

export const RunQueryShape = z.strictObject({
  status: z.enum(STATUSES).optional(),
  agent: nameShape.optional(),
  startedBy: nameShape.optional(),
  search: nameShape
    .optional()
    .openapi({ description: 'Text that the id, the title, or the title of `waitsFor` contains.' }),
  order: z.enum(['newest', 'oldest']).optional().openapi({ description: 'Newest first by default.' }),
  ...pageQuery,
});

export const EventShape = z
  .looseObject({ seq: z.int(), at: z.number(), type: z.string() })
  .openapi('Event', { description: 'A recorded fact of the run.' });

export const EventQueryShape = z.strictObject({
  after: wholeNumber(0, 2_147_483_647, { description: 'The last `seq` received.', default: 0 }).optional(),
  cursor: z
    .string()
    .regex(/^\d{1,9}$/, 'must be the `cursor` of a page')
    .transform(Number)
    .optional()
    .openapi({ type: 'string', description: 'The `cursor` of the page before, in place of `after`.' }),
  limit: pageQuery.limit,
  follow: z.enum(['0', '1']).optional().openapi({ description: '1: server-sent events, as with `Accept`.' }),
});

export const VerifiedShape = z
  .object({ ok: z.boolean(), events: z.int(), problem: z.string().nullable() })
  .openapi('Verified');

export const EvidenceShape = z
  .looseObject({
    format: z.string(),
    run: z.looseObject({ id: z.string(), hash: z.string() }),
    events: z.array(z.looseObject({ at: z.number(), type: z.string() })),
    requests: z.array(z.looseObject({ id: z.string(), digest: z.string() })),
    hash: z.string(),
  })
  .openapi('Evidence');

export const NamesShape = z
  .record(z.string(), z.string())
  .openapi('Names', { description: 'The names of people by their ids. They are only shown; ids decide.' });
