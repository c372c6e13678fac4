// The caller, a person or a program: their scopes and their reach.
import { z } from '@hono/zod-openapi';
import type { Context } from 'countersign';
import { checkOptions, option, optionsOf } from '../check-options.ts';

/** The scopes of a caller: start and steer runs, read, decide. */
export const SCOPES = ['start', 'read', 'decide'] as const;
/** A right of a caller. */
export type Scope = (typeof SCOPES)[number];

export const REACHES = ['own', 'all'] as const;
/** The runs that a caller sees by default: their own, or all. */
export type Reach = (typeof REACHES)[number];

/** An identified caller. */
export type Person = {
  /** Recorded as `startedBy` and `by`. Compared byte for byte: `Ann@example.com` and `ann@example.com` are two people. */
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly reach: Reach;
  /** Such as `finance`: policies of requests name them. They come from the sign-in, never from the body of a request. */
  readonly roles: readonly string[];
  /** Passed to tools while this person's own run is driven; it is not stored. */
  readonly context?: Context;
};

/** The result of an `identify` hook; all scopes and their own runs by default. */
export type Identified = {
  /** Compared byte for byte: return one spelling per person, such as an address in lower case. */
  readonly id: string;
  readonly name?: string | null;
  readonly scopes?: readonly Scope[];
  readonly reach?: Reach;
  readonly roles?: readonly string[];
  readonly context?: Context;
};

/** Policies and records hold them, so their number and length are limited. */
export const MOST_ROLES = 200;

/** Schemas of the rights that an identity or a token gives. */
export const RIGHTS = {
  scopes: z.array(z.enum(SCOPES, { error: notSome }), { error: notSome }).optional(),
  reach: z.enum(REACHES, { error: ({ input }) => `must be own or all, not ${JSON.stringify(input)}` }).optional(),
  roles: option(
    (value) => Array.isArray(value) && value.length <= MOST_ROLES && value.every(isRole),
    `must be an array of at most ${MOST_ROLES} names, each of 1 to 200 characters and without a comma`,
  ),
};

function notSome({ input }: { readonly input?: unknown }): string {
  return `must be some of ${SCOPES.join(', ')}, not ${JSON.stringify(input)}`;
}

const IdentifiedShape = optionsOf<Identified>({
  id: z.any().optional(),
  name: z.any().optional(),
  context: z.any().optional(),
  ...RIGHTS,
});

/** Throws `invalid-options` for what would give more rights than intended, such as misspelt scopes. */
export function checkIdentified(caller: string, given: Omit<Identified, 'context'>, details: object = {}): void {
  checkOptions(caller, IdentifiedShape, given, details);
}

/** How a caller was identified. Browsers send sessions on their own, so those need an origin check. */
export type Proof = 'token' | 'session' | 'hook';

/** Ids are written to records, logs and headers: no control characters, limited length. */
const ID = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

export function isPersonId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id);
}

/** Lists of roles in headers and options are separated by commas, so a role has none. */
export function isRole(role: unknown): role is string {
  return isPersonId(role) && !role.includes(',') && role.trim() === role;
}

export function personOf({ id, name = null, scopes = SCOPES, reach = 'own', roles = [], context }: Identified): Person {
  return {
    id,
    name,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    reach: reach === 'all' ? 'all' : 'own',
    roles: [...new Set(roles)],
    ...(context && { context }),
  };
}
