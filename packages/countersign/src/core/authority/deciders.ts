// The people and roles whom a request names as its deciders, so that a store finds the requests of a person.
import type { Policy, Who } from './policy.ts';

/** The people and roles who may decide a request, or must: a superset of those whose vote would count now. */
export type Deciders = { readonly people: readonly string[]; readonly roles: readonly string[] };

/**
 * Null if no policy names anybody: then anyone may decide. A policy that names nobody adds nobody. The people to whom the request
 * was escalated or assigned are added to those who are named.
 */
export function decidersOf(
  policies: readonly Policy[],
  escalatedTo: readonly Who[],
  assignedTo: string | null,
): Deciders | null {
  const named = policies.flatMap(({ deciders, quorum = [] }) => [
    ...(deciders ? [deciders] : []),
    ...quorum.map(({ of }) => of),
  ]);
  if (named.length === 0) return null;
  const all = [...named, ...escalatedTo, ...(assignedTo === null ? [] : [{ people: [assignedTo] }])];
  return { people: inOrder(all.flatMap(peopleIn)), roles: inOrder(all.flatMap(rolesIn)) };
}

const peopleIn = ({ people = [] }: Who): readonly string[] => people;
const rolesIn = ({ roles = [] }: Who): readonly string[] => roles;
const inOrder = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();
