// Schemas of requests to people.
import { z } from '@hono/zod-openapi';
import type { Message } from 'countersign';
import type { Remark } from 'countersign/request';
import { ConditionSchema, PolicySchema, WhoSchema } from 'countersign/store';
import type {
  CardComment,
  CardDecision,
  CardGrant,
  CardProgress,
  CardRule,
  CardVote,
  StoredCard,
} from 'countersign/ui';
import { MessageShape } from './message.ts';
import { nameShape, orNull, pageQuery, runIdShape, timeShape } from './page.ts';

export const KINDS = ['approval', 'question', 'interrupt', 'doubt', 'unavailable', 'recall'] as const;
const DECIDED_AS = ['approved', 'edited', 'rejected', 'answered', 'cancelled', 'expired'] as const;
export const OUTCOMES = [
  ...DECIDED_AS,
  'changes-asked',
  'done',
  'failed',
  'unknown',
  'not-run',
  'granted',
  'observed',
] as const;
export const RISKS = ['low', 'medium', 'high'] as const;

export const REVERSIBILITIES = ['read-only', 'reversible', 'irreversible'] as const;

const PreviewFileShape = z
  .object({
    name: z.string(),
    mediaType: z.string(),
    size: z.int().openapi({ description: 'In bytes.' }),
    sha256: z.string().openapi({ description: 'Of the bytes, at `/requests/{requestId}/files/{sha256}`.' }),
    data: z.string().optional().openapi({ description: 'The bytes of a small table, in base64.' }),
  })
  .openapi('PreviewFile');

const PreviewShape = z
  .union([
    z.object({ value: z.unknown(), files: z.array(PreviewFileShape).optional() }),
    z.object({ failed: z.string() }),
  ])
  .openapi('Preview', { description: 'What the tool says would happen, or why that could not be computed.' });

const PreviousShape = z
  .object({
    requestId: z.string(),
    input: z.unknown().openapi({ description: 'The input that its card showed.' }),
    comment: z.string().openapi({ description: 'The changes that the person asked for.' }),
    by: z.string().optional(),
    round: z.int().openapi({ description: 'From 1. The request that revises it is the next.' }),
  } satisfies Fields<NonNullable<StoredCard['previous']>>)
  .openapi('Previous', { description: 'A request that a person sent back.' });

const OriginShape = z
  .object({
    field: z
      .array(z.string())
      .openapi({ description: 'The path of the field; empty for all that no other entry names.' }),
    from: z.enum(['user', 'answer', 'editor', 'instructions', 'tool', 'untrusted', 'model', 'not-searched']),
    message: z.int().optional().openapi({ description: 'The place of the message in the conversation, from 1.' }),
    tool: z.string().optional(),
    call: z.string().optional().openapi({ description: 'The `ref` of the call whose result has the value.' }),
    sensitive: z.literal(true).optional(),
  } satisfies Fields<NonNullable<StoredCard['origins']>[number]>)
  .openapi('FieldOrigin', { description: 'Where a value of the input came from.' });

export const AssigneeShape = z
  .object({
    person: z.string(),
    until: z.number().nullable().openapi({
      description: 'In milliseconds, while the person reviews the request; null if it is assigned without an end.',
    }),
  })
  .openapi('Assignee');

/** The person who should decide a request, or reviews it until then. It locks nothing. */
export type Assignee = Readonly<z.infer<typeof AssigneeShape>>;

const JsonSchemaShape = z.record(z.string(), z.unknown()).nullable();

const CardDecisionShape = z
  .looseObject({
    type: z.enum(['approve', 'reject', 'revise', 'respond', 'restart', 'cancel']),
    by: z.string().nullable(),
    at: z.number().nullable(),
    channel: z.string().nullable(),
    note: z.string().nullable(),
    reason: z.string().optional(),
    comment: z.string().optional().openapi({ description: 'The changes that the person asked for.' }),
    edit: z.unknown(),
    output: z.unknown(),
  } satisfies Fields<CardDecision>)
  .openapi('CardDecision');

// Schemas of the engine may come from another copy of zod, which knows nothing of OpenAPI: only their fields are taken over.
export const WhoShape = z
  .strictObject(WhoSchema.shape)
  .openapi('Who', { description: 'People by their ids, and by their roles.' });

const PolicyShape = z.strictObject(PolicySchema.shape).openapi('Policy', { description: 'Who must decide a request.' });

const ReviewShape = z
  .object({
    policy: z.string().optional(),
    step: z.int().optional().openapi({ description: 'The step of a plan that it is about, from 1.' }),
    findings: z.array(
      z
        .object({ level: z.enum(['info', 'warning']), text: z.string(), field: z.string().optional() })
        .openapi('Finding'),
    ),
    stricter: z.literal(true).optional().openapi({ description: 'It made the request stricter.' }),
    failed: z.string().optional().openapi({ description: 'Why there is no review.' }),
    required: z.literal(true).optional().openapi({ description: 'Nobody can approve without it.' }),
  } satisfies Fields<ApiRequest['reviews'][number]>)
  .openapi('Review');

const CardVoteShape = z
  .object({
    by: z.string().nullable(),
    onBehalfOf: z.string().nullable().openapi({ description: 'The person whom the voter stands in for.' }),
    type: z.enum(['approve', 'reject', 'revise', 'respond', 'restart', 'cancel']),
    at: z.number().nullable(),
    note: z.string().nullable(),
    isEdit: z.boolean().openapi({ description: 'It proposes the input that the card shows.' }),
    isYours: z.boolean().openapi({ description: 'The caller gave it.' }),
  } satisfies Fields<CardVote>)
  .openapi('CardVote');

const CommentShape = z
  .object({ by: z.string(), text: z.string(), at: z.number().nullable() } satisfies Fields<CardComment>)
  .openapi('Comment');

const ProgressShape = z
  .object({
    votes: z.array(CardVoteShape).openapi({ description: 'The votes that count now.' }),
    missing: z.array(z.object({ of: WhoShape, count: z.int() })),
    assignedTo: z.string().nullable(),
    escalatedTo: z.array(WhoShape),
    round: z.int().openapi({ description: 'One more for each edit that others must agree to.' }),
    outOfReach: z
      .array(z.object({ of: WhoShape, count: z.int() }))
      .optional()
      .openapi({ description: 'Votes that are missing and that nobody who is known can give.' }),
    comments: z
      .array(CommentShape)
      .optional()
      .openapi({ description: 'The newest 20 comments, oldest first; the events of the run have all of them.' }),
  } satisfies Fields<CardProgress>)
  .openapi('Progress');

const DoubtShape = z
  .object({
    startedAt: z.number().optional().openapi({ description: 'When it was started last.' }),
    approvedBy: z.array(z.string()).optional(),
    grantId: z.string().optional(),
    idempotencyKey: z.string().openapi({ description: 'What the tool got to recognize a repeated call.' }),
    howToCheck: z
      .string()
      .optional()
      .openapi({ description: 'Where to look, as the tool says: a text, or a link alone.' }),
  } satisfies Fields<NonNullable<ApiRequest['doubt']>>)
  .openapi('Doubt');

const EscalationShape = z
  .object({
    at: z.number(),
    to: z.union([WhoShape, z.literal('manager')]).openapi({ description: '`manager`: the managers of the deciders.' }),
    policy: z.int().optional().openapi({ description: 'The place of the policy for which they count.' }),
  })
  .openapi('Escalation');

export const CallOutcomeShape = z
  .object({
    state: z.enum(['running', 'frozen', 'done', 'failed', 'unknown', 'not-run']),
    at: z.number().nullable().optional(),
    startsAt: z.number().optional().openapi({ description: 'It waits until then, and can be recalled.' }),
    text: z.string().nullable().optional().openapi({
      description: 'The result in one line, or why it failed.',
    }),
    id: z.string().optional().openapi({ description: 'The freeze that keeps it from starting.' }),
    reason: z.string().optional().openapi({ description: 'Why it is frozen.' }),
    by: z.string().nullable().optional().openapi({ description: 'Who froze it.' }),
    mayHaveActed: z.boolean().optional().openapi({ description: 'It may have taken effect before it failed.' }),
    why: z
      .enum([
        'rejected',
        'cancelled',
        'changes-asked',
        'expired',
        'withdrawn',
        'edited',
        'changed',
        'stopped',
        'recalled',
      ])
      .optional()
      .openapi({ description: 'Why it did not run.' }),
  })
  .openapi('CallOutcome', { description: 'What came of the call after the decision.' });

const currency = z.string().nullable();

const CardGrantShape = z
  .object({
    id: z.string(),
    is: z.enum(['used', 'given']).openapi({
      description: '`used`: it let the call run, and nobody was asked. `given`: it was given with the decision.',
    }),
    by: z.string().nullable().openapi({ description: 'The person who gave it.' }),
    at: z.number().nullable(),
    uses: z.int().optional().openapi({ description: 'How many calls it lets run in all.' }),
    left: z.int().optional().openapi({ description: 'How many calls it still lets run.' }),
  } satisfies Fields<CardGrant>)
  .openapi('CardGrant');

const CardRuleShape = z
  .object({
    tool: z.union([z.string(), z.array(z.string())]).optional(),
    agent: z.string().optional(),
    label: z.string().optional(),
    risk: z.enum(RISKS).optional(),
    reversibility: z.enum(REVERSIBILITIES).optional(),
    where: z.array(ConditionSchema).optional().openapi({ description: 'Conditions on the input.' }),
    at: z.number().nullable(),
  } satisfies Fields<CardRule>)
  .openapi('CardRule');

const RemarkShape = z
  .discriminatedUnion('type', [
    z
      .object({ type: z.literal('new-recipient'), field: z.string(), value: z.unknown(), among: z.int() })
      .openapi('NewRecipient', { description: 'None of `among` approved requests names this recipient.' }),
    z
      .object({
        type: z.literal('larger-than-usual'),
        field: z.string(),
        amount: z.number(),
        currency,
        most: z.number(),
        among: z.int(),
        recipient: z.unknown().optional(),
      })
      .openapi('LargerThanUsual', {
        description:
          '`most`: the largest of `among` approved requests; of those to the same `recipient`, if it is given.',
      }),
    z
      .object({ type: z.literal('same-as-before'), requestId: z.string(), by: z.string().nullable(), at: z.number() })
      .openapi('SameAsBefore', { description: 'The same input was approved within the last week.' }),
  ])
  .openapi('Remark');

/** The schemas of the fields that a type has, all of them and no others. */
type Fields<T> = Record<keyof T, z.ZodType>;

export const RequestShape = z
  .object({
    id: z.string().openapi({ description: 'The id that a decision names.' }),
    runId: z.string(),
    agent: z.string(),
    startedBy: z.string().nullable(),
    assignee: orNull(AssigneeShape),
    names: z.record(z.string(), z.string()).optional().openapi({
      description: 'The names of people on the request, by their ids. They are only shown; ids decide.',
    }),
    toolCallId: z.string(),
    tool: z.string(),
    title: z.string().nullable().openapi({
      description:
        'What would happen, in one line for people. Null if the tool gives no title. `input` says exactly what runs.',
    }),
    earlierTitle: z.string().nullable().openapi({
      description: 'The title before the person who decided edited the input.',
    }),
    agentReason: z.string().nullable().openapi({
      description: 'Why the model makes the call, in its own words, if its tool asks for that.',
    }),
    kind: z.enum(KINDS),
    status: z.enum(['pending', 'decided']),
    input: z.unknown().openapi({ description: 'The input that would run.' }),
    payload: z.unknown().openapi({ description: 'What the tool wants to show.' }),
    risk: z.enum(RISKS).nullable(),
    labels: z.array(z.string()),
    hasUndo: z.boolean().openapi({ description: 'Its tool can undo what it does.' }),
    reversibility: z.enum(REVERSIBILITIES).nullable().openapi({ description: 'Whether the effect can be undone.' }),
    preview: orNull(PreviewShape),
    earlierPreview: orNull(PreviewShape).openapi({
      description: 'The preview that was approved before, if it has changed since.',
    }),
    commentsForModel: z.boolean().openapi({ description: 'The model reads the comments of a rejected request.' }),
    notice: z.enum(['title-only']).nullable().openapi({ description: '`title-only`: notices show nothing else.' }),
    doubt: orNull(DoubtShape).openapi({ description: 'About a call whose outcome is unknown: where to look.' }),
    reviews: z.array(ReviewShape).openapi({ description: 'What reviewers say about the call: advice for people.' }),
    previous: orNull(PreviousShape).openapi({ description: 'The earlier round, if this request revises one.' }),
    origins: z.array(OriginShape).optional().openapi({
      description: 'Where the values of the input came from; absent where nobody uses that.',
    }),
    createdAt: z.number().nullable(),
    expiresAt: z.number().nullable(),
    onExpiry: z.enum(['reject', 'cancel', 'approve']).nullable(),
    reminders: z.array(z.number()).openapi({ description: 'When people are reminded.' }),
    escalate: z.array(EscalationShape).openapi({ description: 'When more people may decide.' }),
    policies: z
      .array(PolicyShape)
      .nonempty()
      .openapi({ description: 'Who must decide. All of them must be satisfied.' }),
    requesters: z
      .array(z.string())
      .openapi({ description: 'Who took part: the starter, the author of the message, editors.' }),
    progress: orNull(ProgressShape).openapi({ description: 'The votes so far; null if anyone may decide.' }),
    allows: z.array(z.enum(['approve', 'edit', 'revise', 'reject', 'respond', 'restart', 'cancel'])),
    mayDecide: z.boolean(),
    digest: z.string().openapi({ description: 'The digest of everything shown; send it with the decision.' }),
    inputSchema: JsonSchemaShape.openapi({ description: 'JSON Schema of the input, for its labels and for an edit.' }),
    answerSchema: JsonSchemaShape.openapi({ description: 'JSON Schema of the answer.' }),
    decision: orNull(CardDecisionShape),
    outcome: orNull(CallOutcomeShape).openapi({
      description: 'Null while the request is pending, and for an answer that nothing runs with.',
    }),
    observed: z
      .object({ why: z.array(z.string()), at: z.number() })
      .optional()
      .openapi({ description: 'The call ran unasked, and rules that only observe would have asked about it.' }),
    grant: CardGrantShape.optional().openapi({
      description: 'Of a grant that let the call run, or that was given with the decision.',
    }),
    rule: CardRuleShape.optional().openapi({
      description: 'The rule of the operator that let the call run, where nobody was asked.',
    }),
    drill: z.literal(true).optional().openapi({
      description: 'On a settled drill: a request that had to be rejected, and could not run.',
    }),
    problems: z.array(z.object({ path: z.array(z.string()), message: z.string() })),
    remarks: z.array(RemarkShape).optional().openapi({
      description:
        'What stands out beside the requests of the tool that were approved lately. Only where there is something.',
    }),
  } satisfies Fields<ApiRequest>)
  .openapi('Request');

export const RequestWithMessagesShape = RequestShape.extend({
  messages: z.array(MessageShape).openapi({ description: 'The conversation so far.' }),
}).openapi('RequestWithMessages');

/** A request as the API returns it: its card, and its assignee. */
export type ApiRequest = StoredCard & { readonly assignee: Assignee | null; readonly remarks?: readonly Remark[] };

/** A request with the conversation so far. */
export type RequestWithMessages = ApiRequest & { readonly messages: readonly Message[] };

export const requestIdShape = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'must be the id of an request')
  .openapi({ pattern: '^[^\\p{Cc}\\p{Cs}]+$' });

/** What selects requests, in a list, a count or an export. */
export const RequestFilterShape = z.strictObject({
  status: z.enum(['pending', 'settled']).optional().openapi({ default: 'pending' }),
  outcome: z
    .enum(OUTCOMES)
    .optional()
    .openapi({
      description:
        'Selects settled requests by their outcome. `approved` includes `edited`, which are approved with changes, and `rejected` includes `changes-asked`, which were sent back. ' +
        '`expired`: not decided in time. `done`, `failed`, `unknown` and `not-run`: by what came of the call. `granted`: calls ' +
        'that a grant or a rule let run, `observed`: calls that rules only observed. Nobody decided these.',
    }),
  runId: runIdShape.optional(),
  agent: nameShape.optional(),
  tool: nameShape.optional(),
  kind: z.enum(KINDS).optional(),
  risk: z.enum(RISKS).optional(),
  label: nameShape.optional(),
  search: nameShape.optional().openapi({ description: 'Text that the card contains.' }),
  createdBefore: timeShape.optional(),
  createdAfter: timeShape.optional(),
  settledSince: timeShape.optional().openapi({
    description:
      'Selects settled requests. With it, or with `settledBefore`, they come in the order of their settlement.',
  }),
  settledBefore: timeShape.optional(),
  for: z
    .enum(['me', 'others'])
    .optional()
    .openapi({
      description:
        'Selects pending requests. `me`: those that the caller may decide, has not voted on, and that are not assigned to ' +
        'somebody else. `others`: the rest of those that the caller can see.',
    }),
  assignee: z.literal('me').optional().openapi({ description: 'Only requests that are assigned to the caller.' }),
  decidedBy: nameShape.optional().openapi({
    description: 'Only settled requests that this person decided, or whose vote counted.',
  }),
  mine: z.enum(['0', '1']).optional().openapi({ description: '1: only requests of runs that the caller started.' }),
  order: z.enum(['oldest', 'newest']).optional().openapi({ description: 'Oldest first by default.' }),
});

export const RequestQueryShape = RequestFilterShape.extend(pageQuery);

export const RequestCountShape = z
  .object({
    count: z.int(),
    isComplete: z.boolean().openapi({ description: 'False if there are more than are counted.' }),
  })
  .openapi('RequestCount');
