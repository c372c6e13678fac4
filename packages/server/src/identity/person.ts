// The caller, a person or a program: their scopes and their reach.
import { z } from '@hono/zod-openapi';
import type { Context, Json } from 'countersign';
import { checkOptions, optionsOf } from '../check-options.ts';

/** The scopes of a caller: start and steer runs, read, decide. */
export const SCOPES = ['start', 'read', 'decide'] as const;
/** A right of a caller. */
export type Scope = (typeof SCOPES)[number];

export const REACHES = ['own', 'all'] as const;
/** The runs that a caller sees by default: their own, or all. */
export type Reach = (typeof REACHES)[number];

/** An identified caller. */
export type Person = {
  /** Recorded as `startedBy` and `by`. */
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly reach: Reach;
  /** Passed to tools while this person's own run is driven; it is not stored. */
  readonly context?: Context;
};

/** The result of an `identify` hook; all scopes and their own runs by default. */
export type Identified = {
  readonly id: string;
  readonly name?: string | null;
  readonly scopes?: readonly Scope[];
  readonly reach?: Reach;
  readonly context?: Context;
};

/** Schemas of the rights that an identity or a token gives. */
export const RIGHTS = {
  scopes: z
    .custom((value) => unknownScopes(value).length === 0, {
      error: ({ input }) => `must be some of ${SCOPES.join(', ')}, not ${JSON.stringify(unknownScopes(input)[0])}`,
    })
    .optional(),
  reach: z
    .custom((value) => REACHES.includes(value as Reach), {
      error: ({ input }) => `must be own or all, not ${JSON.stringify(input)}`,
    })
    .optional(),
};

function unknownScopes(scopes: unknown): readonly unknown[] {
  return Array.isArray(scopes) ? scopes.filter((scope) => !SCOPES.includes(scope)) : [scopes];
}

const IdentifiedShape = optionsOf<Identified>({
  id: z.any().optional(),
  name: z.any().optional(),
  context: z.any().optional(),
  ...RIGHTS,
});

/** Throws `invalid-options` for what would give more rights than intended, such as misspelt scopes. */
export function checkIdentified(caller: string, given: Omit<Identified, 'context'>): void {
  checkOptions(caller, IdentifiedShape, given);
}

/** How a caller was identified. Browsers send sessions on their own, so those need an origin check. */
export type Proof = 'token' | 'session' | 'hook';

/** Ids are written to records, logs and headers: no control characters, limited length. */
const ID = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

export function isPersonId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id);
}

const StoredShape = z.object({
  id: z.custom<string>(isPersonId),
  name: z.string().nullable().default(null),
  scopes: z.array(z.enum(SCOPES)).readonly().default(SCOPES),
  reach: z.enum(REACHES).default('own'),
});

/** Reads a stored identity; undefined if it is invalid, as after an edit in the database. */
export const identifiedIn = (stored: Json | undefined): Identified | undefined => StoredShape.safeParse(stored).data;

export function personOf({ id, name = null, scopes = SCOPES, reach = 'own', context }: Identified): Person {
  return {
    id,
    name,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    reach: reach === 'all' ? 'all' : 'own',
    ...(context && { context }),
  };
}
