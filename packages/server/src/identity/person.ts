// Who asks: a person or a program, what they may do, and how far they see.
import { type Context, type Json, UsageError } from 'countersign';
import { keysOf, refuseUnknownKeys } from '../known-keys.ts';

/** What somebody may do: start and steer runs, read, decide. */
export const SCOPES = ['start', 'read', 'decide'] as const;
/** What somebody may do. */
export type Scope = (typeof SCOPES)[number];

export const REACHES = ['own', 'all'] as const;
/** Whose runs somebody sees when no policy says otherwise: their own, or everybody's. */
export type Reach = (typeof REACHES)[number];

/** Who asks, as the server knows them. */
export type Person = {
  /** What is recorded as `startedBy` and `by`. */
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly reach: Reach;
  /** What tools get while a run of this person is driven for them; it is not stored. */
  readonly context?: Context;
};

/** What an `identify` hook says of who asks: all scopes and the own runs, unless given. */
export type Identified = {
  readonly id: string;
  readonly name?: string | null;
  readonly scopes?: readonly Scope[];
  readonly reach?: Reach;
  readonly context?: Context;
};

const IDENTIFIED = keysOf<Identified>({ id: true, name: true, scopes: true, reach: true, context: true });

/** Throws `invalid-options` for what would give more than was meant, such as misspelt scopes. `what` begins the message. */
export function checkIdentified(what: string, given: Omit<Identified, 'context'>): void {
  refuseUnknownKeys(what, given, IDENTIFIED);
  checkRights(given);
}

export function checkRights({ scopes = SCOPES, reach = 'own' }: Pick<Identified, 'scopes' | 'reach'>): void {
  const unknown = Array.isArray(scopes) ? scopes.filter((scope) => !SCOPES.includes(scope)) : [scopes];
  if (unknown.length > 0)
    throw new UsageError(
      'invalid-options',
      { unknown },
      `\`scopes\` must be some of ${SCOPES.join(', ')}, not ${JSON.stringify(unknown[0])}.`,
    );
  if (!REACHES.includes(reach))
    throw new UsageError('invalid-options', {}, `\`reach\` must be own or all, not ${JSON.stringify(reach)}.`);
}

/** How somebody is known. It decides what a page of another site could make their browser do. */
export type Proof = 'token' | 'session' | 'hook';

/** An id is written to records, logs and headers: no control characters, no end. */
const ID = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

export function isPersonId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id);
}

/** Who was written down; undefined if that is nobody, as where somebody changed the store. */
export function identifiedIn(kept: Json | undefined): Identified | undefined {
  if (typeof kept !== 'object' || kept === null || Array.isArray(kept)) return undefined;
  const { id, name = null, scopes, reach } = kept as { readonly [key: string]: Json };
  const isKnown = isPersonId(id) && (name === null || typeof name === 'string');
  if (!isKnown || (scopes !== undefined && !Array.isArray(scopes))) return undefined;
  return { id, name, ...(scopes && { scopes: scopes as Scope[] }), reach: reach === 'all' ? 'all' : 'own' };
}

export function personOf({ id, name = null, scopes = SCOPES, reach = 'own', context }: Identified): Person {
  return {
    id,
    name,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    reach: reach === 'all' ? 'all' : 'own',
    ...(context && { context }),
  };
}
