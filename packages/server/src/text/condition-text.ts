// Conditions on an input as sentences.
import type { Condition } from 'countersign/request';
import type { CardRule } from 'countersign/ui';
import { jsonText, nameText } from './value-text.ts';
import { visibleLine } from './visible-text.ts';

const LIMITS = { above: 'above', atLeast: 'at least', below: 'below', atMost: 'at most' } as const;

const ORIGIN_TEXTS = {
  user: 'typed or answered by a person',
  trusted: 'from a person or a trusted source',
  model: 'the model’s own',
  untrusted: 'from an untrusted source',
} as const;

/** As in `amount is above 1000 and country is one of CH, DE`. `labels`: other words for the fields. */
export const conditionsText = (
  conditions: readonly Condition[],
  labels: ReadonlyMap<string, string> = new Map(),
): string => conditions.map((condition) => conditionText(condition, labels)).join(' and ');

function conditionText(
  { field, equals, oneOf, origin, ...limits }: Condition,
  labels: ReadonlyMap<string, string>,
): string {
  const path = [field].flat();
  const label = path.length === 1 ? labels.get(path[0] ?? '') : undefined;
  const name = label === undefined || label === path[0] ? path.map(nameText).join('.') : visibleLine(label);
  const ranges = Object.entries(LIMITS).flatMap(([limit, words]) => {
    const value = limits[limit as keyof typeof LIMITS];
    return value === undefined ? [] : [`${words} ${value}`];
  });
  const from = origin === undefined ? [] : [ORIGIN_TEXTS[origin]];
  const verdicts = [
    ...(equals === undefined ? [] : [shown(equals)]),
    ...(oneOf === undefined ? [] : [`one of ${oneOf.map(shown).join(', ')}`]),
    ...ranges,
    ...from,
  ];
  return `${name} is ${verdicts.join(' and ')}`;
}

/** Which calls a rule lets run, as in `tool read_*, amount is at most 100`. */
export function ruleText({ tool, agent, label, risk, reversibility, where }: CardRule): string {
  const named = Object.entries({ tool: tool && [tool].flat().join(', '), agent, label, risk, reversibility });
  const parts = named.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${visibleLine(value)}`]));
  return [...parts, ...(where ? [conditionsText(where)] : [])].join(', ') || 'any call';
}

const shown = (value: unknown): string => (typeof value === 'string' ? visibleLine(value) : jsonText(value));
