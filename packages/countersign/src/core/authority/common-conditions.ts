// What inputs have in common: the limits that a grant for more of them would have.
import { type Json, sameJson } from '../json.ts';
import type { Condition } from './condition.ts';
import { isAmount } from './grants/grant-maximum.ts';

/** Of an input. */
const MOST_FIELDS = 50;
const LONGEST_VALUE = 1_000;
const isShort = (value: Json): boolean => JSON.stringify(value).length <= LONGEST_VALUE;

/** The fields that have one value in all inputs, and the largest of each numeric field. */
export function commonConditions(inputs: readonly { readonly [key: string]: Json }[]): readonly Condition[] {
  const [first = {}] = inputs;
  const fields = Object.keys(first)
    .slice(0, MOST_FIELDS)
    .filter((field) => inputs.every((input) => Object.hasOwn(input, field)));
  return fields.flatMap((field): readonly Condition[] => {
    const values = inputs.map((input) => input[field] as Json);
    const [one = null] = values;
    if (values.every(isAmount))
      return [{ field, atLeast: 0, atMost: values.reduce((most, value) => (value > most ? value : most)) }];
    return isShort(one) && values.every((value) => sameJson(value, one)) ? [{ field, equals: one }] : [];
  });
}
