// Schemas of freezes.
import { z } from '@hono/zod-openapi';
import type { FreezeView, RunningCall } from 'countersign/store';
import { nameShape } from './page.ts';

const names = z.array(nameShape).max(100).optional();

export const FreezeRequestShape = z
  .strictObject({
    tools: names.openapi({ description: 'Names of tools; `*` stands for any characters.' }),
    agents: names.openapi({
      description: 'Agents, with their sub-agents. Calls from outside have the name of their gate.',
    }),
    people: names.openapi({ description: 'Runs that these people started, or wrote the last message to.' }),
    reason: z.string().min(1).max(2_000),
  })
  .openapi('FreezeRequest', {
    description: 'All that is given must hold; without `tools`, `agents` and `people`, every call is frozen.',
  });

/** A freeze as a caller sees it. */
export type Freeze = Omit<FreezeView, 'lift'> & { readonly mayLift: boolean };

/** What is frozen, and whether the caller may freeze. */
export type Freezes = { readonly items: readonly Freeze[]; readonly mayFreeze: boolean };

/** A new freeze, and the covered calls that run. */
export type MadeFreeze = Freeze & { readonly running: readonly RunningCall[] };

export const FreezeShape = z
  .object({
    id: z.string(),
    tools: z.array(z.string()).optional(),
    agents: z.array(z.string()).optional(),
    people: z.array(z.string()).optional(),
    reason: z.string(),
    by: z.string().nullable(),
    at: z.number().openapi({ description: 'In milliseconds.' }),
    votes: z.array(z.unknown()).openapi({ description: 'The votes to lift it so far.' }),
    missing: z
      .array(z.unknown())
      .openapi({ description: 'The votes that its end still needs: `of` whom, and the `count`.' }),
    lifted: z.object({ at: z.number(), by: z.string().nullable() }).nullable(),
    mayLift: z.boolean().openapi({ description: 'Whether the caller may vote to lift it.' }),
  } satisfies Record<keyof Freeze, z.ZodType>)
  .openapi('Freeze');

export const FreezesShape = z
  .object({
    items: z.array(FreezeShape),
    mayFreeze: z.boolean().openapi({ description: 'Whether the caller may freeze.' }),
  })
  .openapi('Freezes');

export const MadeFreezeShape = FreezeShape.extend({
  running: z
    .array(
      z.object({
        runId: z.string(),
        agent: z.string(),
        tool: z.string(),
        startedBy: z.string().nullable(),
        since: z.number().nullable(),
        progress: z.string(),
        steps: z.array(z.string()),
      } satisfies Record<keyof RunningCall, z.ZodType>),
    )
    .openapi({
      description: 'Covered calls that had started before, of runs that the caller can see. Nothing stops them.',
    }),
}).openapi('MadeFreeze');

export const FreezesQueryShape = z.strictObject({
  lifted: z.enum(['true', 'false']).optional().openapi({ description: 'Those that have ended, the newest first.' }),
});

export const LiftShape = z.strictObject({ note: z.string().max(10_000).optional() }).openapi('LiftFreeze');

export const freezeIdShape = z.string().regex(/^[\w-]{1,128}$/, 'must be the id of a freeze');
