// The deciders of a request as keys, so that one index finds the requests of a person: of people, of roles, of the person who started
// the run, and one for requests that name nobody.
import type { Deciders } from '../../core/authority/deciders.ts';
import type { RequestQuery } from '../../runs/port/store.ts';

const ANYONE = '*';
const person = (id: string): string => `p:${id}`;
const role = (name: string): string => `r:${name}`;

/** The key of a person as the one who started the run. */
export const STARTER = 's:';

/** The keys of a request, without that of the person who started its run. */
export function keysOf(deciders: Deciders | null): readonly string[] {
  return deciders ? [...deciders.people.map(person), ...deciders.roles.map(role)] : [ANYONE];
}

/** The deciders behind the keys. */
export function decidersIn(keys: readonly string[]): Deciders | null {
  if (keys.includes(ANYONE)) return null;
  const named = (prefix: string) => keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  return { people: named(person('')), roles: named(role('')) };
}

/** A request is selected if it has one of these keys. */
export function askedKeys({ startedBy, ...deciders }: NonNullable<RequestQuery['deciders']>): readonly string[] {
  return [...keysOf(deciders), startedBy === undefined ? ANYONE : STARTER + startedBy];
}
