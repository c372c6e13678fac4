// Schemas of the gate: calls of programs outside, and their results.
import { z } from '@hono/zod-openapi';
import { dataSchemaShape } from './data-schema.ts';
import { anyJson as json, nameShape, wholeNumber } from './page.ts';
import { REVERSIBILITIES, RISKS } from './request.ts';

/** The longest that a request of this API may ask to wait, in seconds. */
export const LONGEST_WAIT_S = 60;
const DAY_S = 86_400;

const PlannedToolShape = z
  .strictObject({
    name: z.string().regex(/^[\w-]{1,128}$/, 'must be 1 to 128 letters, digits, "_" or "-"'),
    description: z.string().max(2_000).optional(),
    title: z.string().min(1).max(200).optional(),
    risk: z.enum(RISKS).optional(),
    reversibility: z.enum(REVERSIBILITIES).optional(),
    labels: z.array(nameShape).max(20).optional(),
    policy: nameShape.optional(),
    schema: dataSchemaShape.optional(),
  })
  .openapi('PlannedTool');

export const GateAskShape = z
  .strictObject({
    tool: z
      .string()
      .regex(/^[\w-]{1,128}$/, 'must be 1 to 128 letters, digits, "_" or "-"')
      .openapi({ description: 'What would be done, such as `deploy`. Rules and grants go by it.' }),
    input: json.openapi({ description: 'Exactly what would be done: any JSON. A person decides about it.' }),
    key: z
      .string()
      .regex(/^[^\p{Cc}\p{Cs}]{1,500}$/u, 'must be 1 to 500 characters, without control characters')
      .openapi({
        pattern: '^[^\\p{Cc}\\p{Cs}]{1,500}$',
        description: 'Identifies the call among those of the caller and the tool: the same key asks once.',
      }),
    revises: z
      .string()
      .regex(/^gate\.[\w-]{22}$/, 'must be the runId of an earlier call')
      .optional()
      .openapi({
        description: 'The `runId` of the call that this one revises, because a person asked for changes to it.',
      }),
    title: z.string().min(1).max(200).optional().openapi({ description: 'What would happen, in one line.' }),
    message: z.string().min(1).max(2_000).optional().openapi({ description: 'What the request says beside it.' }),
    description: z.string().max(2_000).optional(),
    risk: z.enum(RISKS).optional(),
    reversibility: z.enum(REVERSIBILITIES).optional(),
    labels: z.array(nameShape).max(20).optional(),
    policy: nameShape.optional().openapi({
      description: 'The name of a policy that the server defines. Nobody can decide the request if it does not.',
    }),
    schema: dataSchemaShape.optional().openapi({
      description:
        'JSON Schema of the input, for edits, of at most 64,000 characters. `$ref`, `pattern`, `patternProperties`, `uniqueItems` ' +
        'and `unevaluated…` are refused: the server checks values with it, in limited steps.',
    }),
    tools: z.array(PlannedToolShape).min(1).max(50).optional().openapi({
      description:
        'The call is a plan for calls of these tools: its input is `{ steps: [{ tool, input }] }`, and `tool` is its name.',
    }),
    outputSchema: dataSchemaShape
      .optional()
      .openapi({ description: 'JSON Schema of the output, for results that a person enters.' }),
    expiresIn: z
      .union([
        z
          .int()
          .min(1)
          .max(DAY_S * 3_650),
        z.string().regex(/^\d{1,6}[smhd]$/, 'must be like 30s, 10m, 4h or 2d'),
      ])
      .optional()
      .openapi({ description: 'In seconds, or as in `4h`. Then the request is rejected.' }),
    notice: z.literal('title-only').optional().openapi({ description: 'Notices show the title and a link, no input.' }),
    wait: z.int().min(0).max(LONGEST_WAIT_S).optional().openapi({
      description: 'How many seconds to wait while the call is pending or started; 0 by default.',
    }),
  })
  .openapi('GateAsk');

const requestId = z.string().openapi({ description: 'The request that a person has to decide.' });
const edited = json.openapi({ description: 'What runs: a person may have edited it.' });

/** A call with this status, and the fields that only it has. */
const gateWith = <const Status extends string, Fields extends z.ZodRawShape>(
  status: Status,
  description: string,
  fields: Fields,
) =>
  z
    .object({
      status: z.literal(status),
      runId: z.string().openapi({ description: 'Names the call in the other routes.' }),
      url: z.string().openapi({ description: 'The page of the request, or of the call.' }),
      ...fields,
    })
    .openapi(`Gate${status.slice(0, 1).toUpperCase()}${status.slice(1)}`, { description });

export const GateShape = z
  .discriminatedUnion('status', [
    gateWith('pending', 'A person has not decided, or it must wait before it starts.', {
      id: requestId,
      waitsUntil: z.number().optional().openapi({
        description: 'It is approved, and must not start before, in milliseconds: a person may recall it.',
      }),
    }),
    gateWith('approved', 'It may be started, unless it is frozen.', {
      input: edited,
      frozen: z
        .object({ id: z.string(), reason: z.string(), by: z.string().nullable(), at: z.number() })
        .openapi('GateFrozen')
        .optional()
        .openapi({ description: 'A freeze keeps it from starting. Try again once that is lifted.' }),
    }),
    gateWith('started', 'The start was granted, and no result was reported yet.', {
      input: edited,
      until: z.number().openapi({ description: 'When its lease ends, in milliseconds.' }),
    }),
    gateWith('done', 'It was reported as done.', {
      input: edited,
      output: json.openapi({ description: 'What was reported.' }),
    }),
    gateWith('failed', 'It was reported as failed.', {
      input: edited,
      error: z.string().openapi({ description: 'What went wrong.' }),
      mayHaveActed: z.boolean().openapi({ description: 'It may have taken effect.' }),
    }),
    gateWith('rejected', 'It was rejected, withdrawn, or expired. It will never start.', {
      reason: z.string().openapi({ description: 'Why.' }),
      expired: z.literal(true).optional().openapi({ description: 'Its deadline passed.' }),
      revise: z.object({ comment: z.string(), by: z.string().nullable() }).openapi('GateRevise').optional().openapi({
        description: 'A person asks for changes. Ask for the changed call with another key, and with `revises`.',
      }),
    }),
    gateWith('doubt', 'It was started, and its outcome is unknown. A person is asked.', { id: requestId }),
  ])
  .openapi('Gate', { description: 'A call of a program outside, as it is now. Also in the problem `start-refused`.' });

/** A call of a program outside. */
export type GateAnswer = Readonly<z.infer<typeof GateShape>>;

export const GateQueryShape = z.strictObject({
  wait: wholeNumber(0, LONGEST_WAIT_S, {
    description: 'How many seconds to wait while the call is pending or started.',
    default: 0,
  }).optional(),
});

const tokenShape = z.string().regex(/^[\x21-\x7e]{8,200}$/, 'must be 8 to 200 visible ASCII characters');

const leaseShape = z.int().min(1).max(DAY_S).optional();

export const GateStartShape = z
  .strictObject({
    lease: leaseShape.openapi({
      description: 'How many seconds the program may take to report; 600 by default. Then the call is in doubt.',
    }),
    token: tokenShape.optional().openapi({
      description:
        'A secret of the program, such as a UUID: the same token gets the same answer again. Random by default.',
    }),
  })
  .openapi('GateStart');

export const GateRenewShape = z
  .strictObject({
    token: tokenShape.openapi({ description: 'The token of the start.' }),
    lease: leaseShape.openapi({ description: 'How many seconds from now the lease ends; 600 by default.' }),
  })
  .openapi('GateRenew');

export const GateGrantedShape = z
  .object({
    runId: z.string(),
    token: z.string().openapi({ description: 'For the report.' }),
    input: z.unknown().openapi({ description: 'Do exactly this.' }),
    until: z.number().openapi({ description: 'Report before, in milliseconds.' }),
  })
  .openapi('GateGranted');

/** A granted start. */
export type GateGranted = Readonly<z.infer<typeof GateGrantedShape>>;

export const GateReportShape = z
  .union([
    z.strictObject({ token: tokenShape, output: json }),
    z.strictObject({
      token: tokenShape,
      error: z.string().min(1).max(10_000),
      notPerformed: z.boolean().optional().openapi({ description: 'Nothing was done.' }),
    }),
  ])
  .openapi('GateReport');
