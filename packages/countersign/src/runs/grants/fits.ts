// Whether an input fits what a grant says of it beside its conditions: its schema, or exactly one input.

import type { Grant } from '../../core/authority/grant.ts';
import { canonicalJson, type Json } from '../../core/json.ts';
import { dataSchemaProblem, fitsLimited } from '../../loop/tool/data-schema.ts';
import { shortHash } from '../port/chain.ts';

/** A schema that cannot be checked in limited steps accepts nothing. */
export function fits({ schema, inputDigest }: Pick<Grant, 'schema' | 'inputDigest'>, input: Json): boolean {
  if (inputDigest !== undefined && digestOfInput(input) !== inputDigest) return false;
  return schema === undefined || (dataSchemaProblem(schema) === undefined && fitsLimited(schema, input));
}

export const digestOfInput = (input: Json): string => shortHash(canonicalJson(input));
