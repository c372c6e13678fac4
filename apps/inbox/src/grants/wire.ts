// Grants, and their conditions in words.

import type { Grant, SimulatedGrant } from '@countersign/server/client';
import type { GrantRequest } from 'countersign';
import type { ApiRequest } from '../api/wire.ts';

export type { Grant, GrantInDetail } from '@countersign/server/client';
export type { GrantRequest } from 'countersign';

export type Condition = Grant['where'][number];
/** What a grant allows. */
export type Limits = Omit<GrantRequest, 'expiresAt'>;
export type Simulated = Pick<SimulatedGrant, 'simulation'> & { readonly suggestion: GrantRequest | null };

const SIGNS = { above: 'above', atLeast: 'at least', below: 'below', atMost: 'at most' } as const;

/** As in `amount at most 500`. */
export function conditionText({ field, equals, oneOf, ...limits }: Condition): string {
  const name = [field].flat().join('.');
  const ranges = Object.entries(limits).map(([limit, value]) => `${SIGNS[limit as keyof typeof SIGNS]} ${value}`);
  const texts = [
    ...(equals === undefined ? [] : [`is ${shown(equals)}`]),
    ...(oneOf === undefined ? [] : [`is one of ${oneOf.map(shown).join(', ')}`]),
    ...ranges,
  ];
  return `${name} ${texts.join(' and ')}`;
}

/** Which inputs a grant covers. A step of a plan covers the input that people approved. */
export function inputText({ where = [], schema, inputDigest }: Grant): string {
  if (inputDigest !== undefined) return 'exactly the approved input';
  const texts = [...where.map(conditionText), ...(schema === undefined ? [] : ['input that fits a schema'])];
  return texts.join(', ') || 'any input';
}

/** Which calls a rule lets run, as in `tool read_*, amount at most 100`. */
export function ruleText({ at: _at, where = [], ...match }: NonNullable<ApiRequest['rule']>): string {
  const parts = Object.entries(match).map(([name, value]) => `${name} ${[value].flat().join(', ')}`);
  return [...parts, ...where.map(conditionText)].join(', ') || 'any call';
}

export const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
