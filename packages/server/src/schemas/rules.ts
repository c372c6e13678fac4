// Schemas of rules and policies: their versions, replaying calls under others, and what the past suggests.
import { z } from '@hono/zod-openapi';
import type { Replayed, ReplayedCalls, RulesContent, RulesVersion, Suggestion } from 'countersign/store';
import { GrantRequestShape, SimulationShape } from './grant.ts';
import { nameShape, wholeNumber } from './page.ts';

const json = z.unknown();
const contentShape = {
  rules: z.array(json).openapi({ description: 'As in `countersign({ rules })`. A function is its name.' }),
  policies: z.record(z.string(), json).openapi({ description: 'By their names.' }),
};

const VersionShape = z
  .object({
    ...contentShape,
    number: z.int(),
    digest: z.string(),
    by: z.string().openapi({ description: 'Who deployed it.' }),
    at: z.number(),
    difference: z.object({
      added: z.object(contentShape),
      removed: z.object(contentShape),
      changed: z.record(z.string(), z.object({ before: json, after: json })),
    }),
  } satisfies Record<keyof RulesVersion, z.ZodType>)
  .openapi('RulesVersion');

export const RulesShape = z
  .object({ current: z.object(contentShape), versions: z.array(VersionShape) })
  .openapi('Rules', { description: 'The newest 50 versions, each with its difference to the one before.' });

/** The rules and policies of a server, and their versions. */
export type Rules = { readonly current: RulesContent; readonly versions: readonly RulesVersion[] };
export type { Suggestion };

const { expiresAt: _expiresAt, ...limits } = GrantRequestShape.shape;
/** More of them are a mistake. */
const MOST = 100;

export const ReplayShape = z
  .strictObject({
    days: z.int().min(1).max(3_660).optional().openapi({ default: 90 }),
    rules: z.array(z.record(z.string(), json)).max(MOST).optional(),
    policies: z.record(z.string(), z.record(z.string(), json)).optional(),
    grants: z
      .array(z.strictObject({ ...limits, tool: nameShape }))
      .max(MOST)
      .optional(),
  })
  .openapi('Replay', {
    description: 'Rules instead of those of the server, and policies beside or instead of its own.',
  });

const count = z.int().min(0);
const CallsShape = z
  .object({
    count,
    ...{ approved: count, edited: count, rejected: count, other: count },
    calls: z
      .array(
        z.object({
          id: z.string().openapi({ description: 'Of its request or row in lists, or else of its run.' }),
          runId: z.string(),
          tool: z.string(),
          title: z.string().optional(),
          at: z.number(),
          decided: z.enum(['approved', 'edited', 'rejected', 'other']),
          why: z.string().optional(),
        }),
      )
      .openapi({ description: 'The newest 100.' }),
  } satisfies Record<keyof ReplayedCalls, z.ZodType>)
  .openapi('ReplayedCalls');

export const ReplayedShape = z
  .object({
    since: z.number(),
    runs: count,
    calls: count,
    same: count,
    changes: z.object({
      runs: CallsShape,
      asks: CallsShape,
      second: CallsShape,
      others: CallsShape,
      denied: CallsShape,
      unknown: CallsShape,
    } satisfies Record<keyof Replayed['changes'], z.ZodType>),
    unread: count,
  } satisfies Record<keyof Replayed, z.ZodType>)
  .openapi('Replayed', { description: 'Calls count by when their run began.' });

export const SuggestionsShape = z
  .object({
    items: z.array(
      z.object({
        tool: z.string(),
        grant: GrantRequestShape,
        requestId: z.string().openapi({ description: 'The person who approved it can give the grant with it.' }),
        approvedBy: z.string().nullable(),
        evidence: SimulationShape,
        text: z.string(),
      } satisfies Record<keyof Suggestion, z.ZodType>),
    ),
  })
  .openapi('Suggestions');

export const PeriodShape = z.strictObject({ days: wholeNumber(1, 366, { default: 90 }).optional() });
