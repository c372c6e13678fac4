// Who the people are: asked at the door, when somebody votes. The record keeps what was answered then.
import { UsageError } from '../core/errors.ts';
import { defined } from '../core/json.ts';
import type { Signed } from './questions/decision.ts';
import type { Voter } from './questions/votes.ts';
import type { DecideOptions } from './run-options.ts';

type MaybePromise<T> = T | Promise<T>;

/** A directory of people, as far as the application has one. */
export type People = {
  /** The roles of a person. They are added to those that the sign-in knows. */
  readonly rolesOf?: (person: string) => MaybePromise<readonly string[]>;
  readonly managerOf?: (person: string) => MaybePromise<string | undefined>;
  /** Who decides for a person who is away. */
  readonly delegateOf?: (person: string) => MaybePromise<string | undefined>;
  /** Everyone who has the role. Policies that too few people can satisfy get a warning. */
  readonly membersOf?: (role: string) => MaybePromise<readonly string[]>;
  /** All roles that exist. A policy that names another one is refused where it is defined. */
  readonly roles?: readonly string[];
};

/** Who votes, with the roles that count: those of the absent person for a vote on their behalf. */
export async function voterOf(people: People, { by }: Signed, options: DecideOptions): Promise<Voter> {
  const { roles: given = [], onBehalfOf, digest, signature, seenForMs } = options;
  if (onBehalfOf !== undefined) await checkDelegate(people, by, onBehalfOf);
  const person = onBehalfOf ?? by;
  const known = person === null ? [] : ((await people.rolesOf?.(person)) ?? []);
  const roles = [...new Set(onBehalfOf === undefined ? [...given, ...known] : known)];
  return defined({ roles: roles.length > 0 ? roles : undefined, onBehalfOf, digest, signature, seenForMs });
}

async function checkDelegate({ delegateOf }: People, by: string | null, absent: string): Promise<void> {
  if (by !== null && (await delegateOf?.(absent)) === by) return;
  const message = `${by ?? 'This person'} does not stand in for ${absent} now. Nothing was recorded.`;
  throw new UsageError('not-allowed', { status: 403, onBehalfOf: absent }, message);
}
