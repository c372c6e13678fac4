// Whether this release knows every requirement of a recorded policy. Asked for each event that is read, so without schemas.
import { isObject } from '../json.ts';
import type { RunEvent } from '../run/event.ts';
import type { Condition } from './condition.ts';
import type { GrantMaximum } from './grants/grant-maximum.ts';
import { ANYONE, type Group, type Policies, type Policy, type Who } from './policy.ts';

/** False if a later release wrote a policy of the event: this one would miss some of its requirements. */
export function knowsPolicies(event: RunEvent): boolean {
  const policies = policiesIn(event);
  return policies === ANYONE || policies.every(isPolicy);
}

function policiesIn(event: RunEvent): Policies | readonly [] {
  if (event.type === 'vote-cast') return event.edit?.asked.policies ?? [];
  if (event.type === 'policy-applied' || event.type === 'call-granted') return event.policies;
  return event.type === 'call-interrupted' && event.request.kind !== 'inside' ? event.request.authority.policies : [];
}

type Known = (value: unknown) => boolean;

/** The type makes each table complete. A field that is not in it is one of a later release. */
const fields =
  <T>(table: { readonly [Field in keyof Required<T>]: Known }): Known =>
  (value) => {
    if (!isObject(value)) return false;
    for (const [field, given] of Object.entries(value))
      if (given !== undefined && !(Object.hasOwn(table, field) && table[field as keyof T](given))) return false;
    return true;
  };
const anything: Known = () => true;
const list =
  (of: Known): Known =>
  (value) =>
    Array.isArray(value) && value.every(of);
const one =
  (...known: readonly unknown[]): Known =>
  (value) =>
    known.includes(value);
const isName: Known = (value) => typeof value === 'string' && value !== '';

const isCondition = fields<Condition>({
  field: anything,
  equals: anything,
  oneOf: Array.isArray,
  above: anything,
  atLeast: anything,
  below: anything,
  atMost: anything,
  // The votes are counted without the origins of the input.
  origin: () => false,
});
export const isWho = fields<Who>({ people: list(isName), roles: list(isName) });
const isGroup = fields<Group>({ of: isWho, count: Number.isInteger, when: list(isCondition) });
const isMaximum = fields<GrantMaximum>({
  uses: anything,
  field: anything,
  each: anything,
  total: anything,
  expiresWithin: anything,
});
const isPolicy = fields<Policy>({
  name: anything,
  deciders: isWho,
  notRequester: one(true),
  quorum: list(isGroup),
  veto: one('any', 'majority'),
  signed: one('passkey'),
  delegates: one(true),
  grants: (value) => value === false || isMaximum(value),
  validFor: (value) => typeof value === 'number',
  onExpiry: one('approve'),
  recallFor: (value) => typeof value === 'number' && value >= 0,
  warnings: anything,
});
